"""Describes a skill that is given as a manifest file or by the name of an installed skill."""

from __future__ import annotations

import re
from pathlib import Path

from openral.errors import ConfigError, choices
from openral.manifest import ControlMode, RobotDescription, SkillDescription, load_skill
from openral.manifest.skill import Contract, Representation, SkillKind, Slot
from openral.skill.library import skill_names
from openral.skill.spaces.slot_columns import ALL


def describe(ref: str, robot: RobotDescription, rate_hz: float) -> SkillDescription:
    """The description in a manifest file; for a name, a skill that returns joint positions."""
    if Path(ref).suffix in {".yaml", ".yml"}:
        return load_skill(ref)
    if ref not in skill_names():
        raise ConfigError(f"no skill '{ref}'; {choices(ref, skill_names(), 'skills')}, or a file")
    width = len(robot.driven)
    slot = Slot(
        name=ALL,
        representation=Representation.JOINT_POSITION,
        dimension=width,
        control_mode=ControlMode.JOINT_POSITION,
    )
    return SkillDescription(
        id=re.sub(r"\W", "_", ref),
        name=ref,
        kind=SkillKind.SCRIPTED,
        entry_point=ref,
        action=Contract(dimension=width, slots=(slot,)),
        rate_hz=rate_hz,
    )
