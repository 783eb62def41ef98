"""SceneType: what a registered scene declares about itself, and what its builder receives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from openral.manifest import RobotDescription, SceneDescription
from openral.manifest.base import Model
from openral.sim.rollout import SimRollout


class NoParameters(Model):
    """A criterion or scene that takes none."""


@dataclass(frozen=True)
class Setup:
    """Validated inputs of a rollout."""

    scene: SceneDescription
    robot: RobotDescription
    options: Model
    """The scene's options, as its own model."""
    criterion: str
    """Which of the scene's criteria defines success."""
    parameters: Model
    """That criterion's parameters, as its own model."""
    cameras: tuple[str, ...] = ()
    """Keys of the cameras that observations carry."""
    quality: bool = False
    """Whether images are rendered with shadows, reflections and antialiasing."""


@dataclass(frozen=True)
class SceneType:
    """A registered scene."""

    name: str
    """Its name in `world.scene` of a scene manifest."""
    summary: str
    """One line for people."""
    options: type[Model]
    """The model of its options: unknown ones are refused."""
    criteria: Mapping[str, type[Model]]
    """Its success criteria and the models of their parameters; the first is the default."""
    build: Callable[[Setup], SimRollout]
    """Makes the rollout."""
    fixed_robot: str | None = None
    """Reference of the only robot that it accepts, or None for a free-robot scene."""
    refuses: Callable[[RobotDescription], str | None] = field(default=lambda robot: None)
    """Why a robot cannot be used in it, or None."""
