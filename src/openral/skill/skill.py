"""The Skill contract: the same for an evaluation in simulation and for the graph."""

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
    """Rows a second: what it answers is executed one row every 1 / rate_hz."""
    action_dim: int
    """Numbers in a row."""
    instruction: str = ""
    """The task in words."""
    root_pose: Rows = field(default_factory=lambda: np.eye(4))
    """The robot's root in a frame whose z points up, 4×4."""
    obstacles: tuple[StaticBox, ...] = ()
    """What it must not touch."""
    object_halves: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """Half the size of each of the task's objects."""


@runtime_checkable
class Skill(Protocol):
    """Answers observations with motion."""

    @property
    def cameras(self) -> tuple[str, ...]:
        """Keys of the cameras that its observations must carry."""

    def reset(self, seed: int) -> None:
        """Forgets the last episode; the same seed and observations give the same answers."""

    def act(self, observation: Observation) -> Rows:
        """The next rows, (rows, action_dim), at least one: joint positions in manifest order."""


@runtime_checkable
class Finishing(Protocol):
    """A skill that knows when it is done; others go on until somebody ends them."""

    def finished(self, observation: Observation) -> bool:
        """Whether there is nothing left to do; asked before each `act`."""
