"""The scene registry: makes a rollout from a scene manifest and a robot, or says why it cannot."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from openral.errors import CapabilityMismatch, ConfigError, choices
from openral.manifest import RobotDescription, SceneDescription, load_robot
from openral.manifest.base import Model
from openral.sim.building.scene_type import SceneType, Setup
from openral.sim.rollout import SimRollout

# Built-in scenes, by the module whose `SCENE` declares them; imported when they are used.
_SHIPPED = {
    "bare": "openral.sim.scenes.bare",
    "tabletop_push": "openral.sim.scenes.tabletop_push",
    "so101_box": "openral.sim.scenes.so101_box",
    "openarm_tabletop": "openral.sim.scenes.openarm_tabletop",
    "kitchen": "openral.sim.scenes.kitchen",
    "pusht": "openral.sim.external.pusht",
}

ENTRY_POINTS = "openral.scenes"


def scene_types() -> list[str]:
    """Names of the registered scenes: built-in first, then those of installed packages."""
    installed = {entry.name for entry in entry_points(group=ENTRY_POINTS)}
    return [*_SHIPPED, *sorted(installed - set(_SHIPPED))]


@cache
def scene_type(name: str) -> SceneType:
    """The registered scene of that name."""
    if name in _SHIPPED:
        found = importlib.import_module(_SHIPPED[name]).SCENE
    else:
        entries = [entry for entry in entry_points(group=ENTRY_POINTS) if entry.name == name]
        if not entries:
            raise ConfigError(f"no scene type '{name}'; {choices(name, scene_types(), 'scenes')}")
        found = entries[0].load()
    if not isinstance(found, SceneType):
        raise ConfigError(f"scene '{name}' is a {type(found).__name__}, not a SceneType")
    return found


def make_rollout(
    scene: SceneDescription,
    robot: RobotDescription | None = None,
    cameras: tuple[str, ...] = (),
    quality: bool = False,
) -> SimRollout:
    """Makes a rollout of the scene with a robot: the one given, else the scene's own.

    `cameras` are the keys of the images in observations; any camera can be rendered at any time
    with `image`. `quality` turns on shadows, reflections and antialiasing.
    """
    kind = scene_type(scene.world.scene)
    chosen = _robot(scene, kind, robot)
    options = _parse(kind.options, scene.world.options, f"option of scene '{kind.name}'")
    criterion, parameters = _success(scene, kind)
    setup = Setup(scene, chosen, options, criterion, parameters, tuple(cameras), quality)
    rollout = kind.build(setup)
    known = [info.key for info in rollout.cameras.values()]
    for key in cameras:
        if key not in known:
            rollout.close()
            raise ConfigError(f"no camera '{key}' in this scene; {choices(key, known, 'cameras')}")
    return rollout


def fixed_robot(kind: SceneType) -> RobotDescription | None:
    """The only robot that the scene accepts, None for a free-robot scene."""
    return None if kind.fixed_robot is None else _load_fixed(kind.fixed_robot)


def compatible(kind: SceneType, robot: RobotDescription) -> str | None:
    """Why the scene does not accept the robot, or None when it does."""
    only = fixed_robot(kind)
    if only is not None:
        return None if robot.id == only.id else f"it is made for '{only.id}' alone"
    return kind.refuses(robot)


def _robot(
    scene: SceneDescription, kind: SceneType, robot: RobotDescription | None
) -> RobotDescription:
    only = fixed_robot(kind)
    if only is not None and scene.base_pose is not None:
        raise ConfigError(
            f"scene '{kind.name}' is made for '{only.id}' at a place of its own; remove base_pose"
        )
    if robot is None and only is None and scene.robot is not None:
        robot = load_robot(scene.robot)
    robot = robot or only
    if robot is None:
        raise ConfigError(f"scene '{scene.id}' names no robot; give one with --robot")
    if reason := compatible(kind, robot):
        raise CapabilityMismatch(f"scene '{kind.name}' does not take robot '{robot.id}': {reason}")
    return robot


@cache
def _load_fixed(ref: str) -> RobotDescription:
    return load_robot(Path(ref) if ref.endswith(".yaml") else ref)


def _success(scene: SceneDescription, kind: SceneType) -> tuple[str, Model]:
    default = next(iter(kind.criteria))
    if scene.task is None:
        return default, kind.criteria[default]()
    asked = scene.task.success
    if asked.criterion not in kind.criteria:
        raise ConfigError(
            f"scene '{kind.name}' has no criterion '{asked.criterion}'; "
            f"{choices(asked.criterion, kind.criteria, 'criteria')}"
        )
    what = f"parameter of criterion '{asked.criterion}'"
    return asked.criterion, _parse(kind.criteria[asked.criterion], asked.parameters, what)


def _parse(model: type[Model], values: Mapping[str, Any], what: str) -> Model:
    """Validates options; ConfigError names each problem with the value and what is valid."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise ConfigError("; ".join(_problem(model, e, what) for e in error.errors())) from None


def _problem(model: type[Model], error: Any, what: str) -> str:
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
        return f"no {what} '{where}'; {choices(where, model.model_fields, 'valid')}"
    return f"{what} '{where}' is {error['input']!r}: {error['msg']}"
