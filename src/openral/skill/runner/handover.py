"""Whether a chunk may preempt the end of another within the joints' speed limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from openral.manifest import ControlMode, RobotDescription
from openral.skill.runner.flight import Flight
from openral.skill.spaces.action_space import SlotRows

PLACES = {ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY, ControlMode.DEX_HAND_JOINT}
"""Modes whose rows are joint positions."""
_SHARE = 0.9  # of a joint's speed limit: what the kernel will surely accept


def may_overlap(
    flight: Flight, slots: Sequence[SlotRows], robot: RobotDescription, now_ns: int
) -> bool:
    """Whether the first row of `slots` can be reached in one `dt` from where `flight` is now.

    A chunk that starts early skips the rest of the one before, so its first step is longer.
    """
    left = max(0.0, (flight.end_ns - now_ns) / flight.row_ns)
    before = {name: rest for part in flight.slots for name, rest in _rest(part, flight, left)}
    for part in slots:
        if part.mode not in PLACES:
            continue
        for column, name in enumerate(part.columns.joints):
            limits = robot.joint(name).limits
            if name not in before or limits is None:
                continue
            way = abs(float(part.data[0, column]) - before[name])
            if way > _SHARE * limits.velocity * flight.dt:
                return False
    return True


def _rest(part: SlotRows, flight: Flight, left: float) -> list[tuple[str, float]]:
    """Name and position of each joint of a slot when `left` rows remain."""
    if part.mode not in PLACES:
        return []
    start = flight.start[list(part.columns.indices)]
    path = np.vstack([start, part.data])
    at = len(part.data) - left
    places = np.arange(len(path))
    return [
        (name, float(np.interp(at, places, path[:, column])))
        for column, name in enumerate(part.columns.joints)
    ]
