"""SceneDescription: the manifest of a world, the robot in it and, for a task scene, the task."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from openral.manifest.base import Model, Name, Positive, Transform

Count = Annotated[int, Field(gt=0)]


class World(Model):
    """The world that is built around the robot."""

    scene: Name
    """Name of a registered scene, such as tabletop_push."""
    options: dict[Name, JsonValue] = Field(default_factory=dict)
    """The scene's own options; each scene refuses those that it does not know."""


class Success(Model):
    """When a task counts as done."""

    criterion: Name
    """One of the scene's criteria."""
    parameters: dict[Name, JsonValue] = Field(default_factory=dict)
    """Its parameters, such as a tolerance."""
    hold_s: Annotated[float, Field(ge=0)] = 0.0
    """How long it must hold without a break."""


class Task(Model):
    """What is to be done in the scene, and how it is evaluated."""

    instruction: str = Field(min_length=1)
    """The task in words, as a policy receives it."""
    success: Success
    """When it is done."""
    max_steps: Count = 400
    """Control steps after which an episode ends without success."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the first episode; episode i uses seed + i."""
    episodes: Count = 1
    """How many episodes an evaluation runs."""


class SceneDescription(Model):
    """A deploy scene (world and robot) or, with a task, a task scene."""

    id: Name
    """The scene's id: the name of its file and on the command line."""
    name: str = Field(min_length=1)
    """The scene's name for people."""
    world: World
    """The world around the robot."""
    robot: str | None = None
    """Id or file of the robot; None leaves the choice to the command line."""
    base_pose: Transform | None = None
    """Where the robot stands; None takes the scene's own place for it."""
    control_rate_hz: Positive = 20.0
    """How many actions a second the scene takes."""
    task: Task | None = None
    """What is to be done; None for a scene to deploy in."""
