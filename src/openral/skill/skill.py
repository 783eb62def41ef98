"""The Skill protocol: the same for an evaluation in simulation and for the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from openral.manifest import RobotDescription
from openral.sim.rollout import Observation, StaticBox

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class SkillContext:
    """What a skill may know before it starts."""

    robot: RobotDescription
    """The robot that it moves."""
    rate_hz: float
    """Rows per second: the skill's rows are executed one every 1 / rate_hz s."""
    action_dim: int
    """Values per row."""
    instruction: str = ""
    """The task in words."""
    root_pose: Rows = field(default_factory=lambda: np.eye(4))
    """Pose of the robot's root in a frame whose z axis points up, 4×4."""
    obstacles: tuple[StaticBox, ...] = ()
    """Boxes that it must not touch, in the frame of the robot's root."""
    object_halves: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """Half extents of the task's objects by name, in m."""


@runtime_checkable
class Skill(Protocol):
    """Turns observations into motion."""

    @property
    def cameras(self) -> tuple[str, ...]:
        """Keys of the cameras that its observations must carry."""

    def reset(self, seed: int) -> None:
        """Forgets the last episode; the same seed and observations give the same answers."""

    def act(self, observation: Observation) -> Rows:
        """Returns the next rows, (n, action_dim), n >= 1: joint positions in manifest order."""


@runtime_checkable
class Finishing(Protocol):
    """A skill that knows when it is done; others run until the caller or the scene ends them."""

    def finished(self, observation: Observation) -> bool:
        """Whether there is nothing left to do; called before each `act`."""
