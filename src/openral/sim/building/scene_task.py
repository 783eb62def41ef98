"""SceneTask: the part of a MuJoCo scene that places its objects and judges success."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import mujoco
import numpy as np


class Verdict(NamedTuple):
    """State of the task at one moment."""

    success: bool
    """Whether the success criterion is met at this moment."""
    reward: float = 0.0
    """Higher is nearer to success."""
    failure: str | None = None
    """Why the task can no longer be done; None: it can."""


class SceneTask(Protocol):
    """Judges by the task's objects alone, so that any robot may do the task in any way."""

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the bodies whose poses observations carry."""

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Called once, before all else, with the compiled model and the data it will run on."""

    def place(self, data: mujoco.MjData, rng: np.random.Generator) -> None:
        """Sets the objects' poses at the start of an episode; the robot is already at home."""

    def judge(self, data: mujoco.MjData) -> Verdict:
        """State of the task; body poses are up to date."""


class NoTask:
    """A scene without a task: nothing to place, never done."""

    objects: tuple[str, ...] = ()

    def bind(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Does nothing."""

    def place(self, data: mujoco.MjData, rng: np.random.Generator) -> None:
        """Leaves all objects at the model's poses."""

    def judge(self, data: mujoco.MjData) -> Verdict:
        """Never done."""
        return Verdict(False)
