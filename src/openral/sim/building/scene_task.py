"""SceneTask: the part of a MuJoCo scene that places its objects and judges how they end up."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import mujoco
import numpy as np


class Verdict(NamedTuple):
    """How the task stands now."""

    success: bool
    """Whether its criterion holds at this moment."""
    reward: float = 0.0
    """Higher is nearer to success."""
    failure: str | None = None
    """Why it cannot be done any more."""


class SceneTask(Protocol):
    """Judges by the task's objects alone, so that any robot may do it in any way."""

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the bodies whose poses observations carry."""

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Called once with the compiled model and the data it will run on, before all else."""

    def place(self, data: mujoco.MjData, rng: np.random.Generator) -> None:
        """Puts the objects where an episode starts; the robot is at home already."""

    def judge(self, data: mujoco.MjData) -> Verdict:
        """How the task stands; body poses are up to date."""


class NoTask:
    """A world without a task: nothing to place, never done."""

    objects: tuple[str, ...] = ()

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Needs nothing of it."""

    def place(self, data: mujoco.MjData, rng: np.random.Generator) -> None:
        """Leaves everything where the model has it."""

    def judge(self, data: mujoco.MjData) -> Verdict:
        """Never done."""
        return Verdict(False)
