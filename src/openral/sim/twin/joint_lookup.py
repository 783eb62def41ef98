"""Resolves joint names in a model: exact names first, then without robosuite's prefixes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import mujoco

_PREFIX = re.compile(r"^[a-z]+[0-9]+_(?=.)")


def joint_index(names: Sequence[str]) -> dict[str, int]:
    """Joint ids by name; `names` are all joints in the model's order, unnamed ones as "".

    A prefix such as robot0_ may be omitted where the rest is neither another joint's exact name
    nor ambiguous: with two arms, robot0_joint1 and robot1_joint1 need their prefixes.
    """
    exact = {name: index for index, name in enumerate(names) if name}
    bare = {name: _PREFIX.sub("", name, count=1) for name in exact}
    count = Counter(bare.values())
    short = {
        without: exact[name]
        for name, without in bare.items()
        if without not in exact and count[without] == 1
    }
    return short | exact


def model_joint_index(model: mujoco.MjModel) -> dict[str, int]:
    """`joint_index` of a compiled model."""
    return joint_index([model.joint(index).name for index in range(model.njnt)])
