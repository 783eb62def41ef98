"""Finds skills by name: the built-in ones and those of installed packages."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from openral.errors import ConfigError, choices
from openral.manifest import ControlMode, RobotDescription, SkillDescription, load_skill
from openral.manifest.base import Model
from openral.manifest.skill import Contract, Representation, SkillKind, Slot
from openral.skill.skill import Skill, SkillContext
from openral.skill.spaces.slot_columns import ALL

ENTRY_POINTS = "openral.skills"

# name -> (module, class, model of its parameters)
_BUILT_IN = {
    "hold": ("openral.skill.builtin.basic", "Hold", "HoldParameters"),
    "home": ("openral.skill.builtin.basic", "Home", "HomeParameters"),
    "random": ("openral.skill.builtin.basic", "Random", "RandomParameters"),
    "scripted-push": ("openral.skill.builtin.scripted_push", "ScriptedPush", "PushParameters"),
}


def skill_names() -> list[str]:
    """Names of all skills: built-in first."""
    installed = {entry.name for entry in entry_points(group=ENTRY_POINTS)}
    return [*_BUILT_IN, *sorted(installed - set(_BUILT_IN))]


def is_installed(name: str) -> bool:
    """Whether it is somebody else's code, not one that ships with openral."""
    return name not in _BUILT_IN and name in skill_names()


def make_skill(
    name: str, context: SkillContext, parameters: Mapping[str, Any] | None = None
) -> Skill:
    """Makes the skill of that name for one robot.

    An unknown parameter is a ConfigError that lists the valid ones. An installed
    `openral.skills` entry point is called with (context, parameters).
    """
    values = dict(parameters or {})
    if name in _BUILT_IN:
        module_name, made, model_name = _BUILT_IN[name]
        module = importlib.import_module(module_name)
        skill = getattr(module, made)(context, _parse(name, getattr(module, model_name), values))
    else:
        entries = [entry for entry in entry_points(group=ENTRY_POINTS) if entry.name == name]
        if not entries:
            raise ConfigError(f"no skill '{name}'; {choices(name, skill_names(), 'skills')}")
        factory: Callable[[SkillContext, dict[str, Any]], Skill] = entries[0].load()
        skill = factory(context, values)
    if not isinstance(skill, Skill):
        raise ConfigError(f"'{name}' made a {type(skill).__name__}, which is no Skill")
    return skill


def _parse(name: str, model: type[Model], values: dict[str, Any]) -> Model:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"parameter '{where}' of skill '{name}' is {first['input']!r}: {first['msg']}; "
            f"{choices(where, model.model_fields, 'parameters')}"
        ) from None


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
