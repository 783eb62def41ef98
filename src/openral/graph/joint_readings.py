"""The joint state of the whole robot, put together from messages that may hold parts of it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from openral.manifest.robot import RobotDescription
from openral.ros.stamps import stamp_ns

Vector = NDArray[np.float64]


class StateSink(Protocol):
    """What takes a whole joint state: the kernel."""

    def set_state(self, q: Vector, qd: Vector, stamp_ns: int) -> None:
        """Positions and velocities in the manifest's order."""


class JointReadings:
    """Keeps each joint's latest reading; the state is as old as the oldest of them."""

    def __init__(self, robot: RobotDescription) -> None:
        self._column = {name: i for i, name in enumerate(robot.joint_names)}
        self.names = robot.joint_names
        self.q = np.full(len(self._column), np.nan)
        self.qd = np.full(len(self._column), np.nan)
        self._stamps = [0] * len(self._column)

    @property
    def stamp_ns(self) -> int:
        """When the oldest part was measured."""
        return min(self._stamps, default=0)

    @property
    def complete(self) -> bool:
        """Whether every joint has a position and a velocity."""
        return bool(np.isfinite(self.q).all() and np.isfinite(self.qd).all())

    def take(self, message: Any) -> None:
        """Reads a JointState; joints of other robots are ignored, missing numbers are unknown."""
        stamp = stamp_ns(message)
        position, velocity = message.position, message.velocity
        for i, name in enumerate(message.name):
            column = self._column.get(name)
            if column is None:
                continue
            self.q[column] = position[i] if i < len(position) else np.nan
            self.qd[column] = velocity[i] if i < len(velocity) else np.nan
            self._stamps[column] = stamp

    def tell(self, kernel: StateSink) -> None:
        """Gives the state to the kernel."""
        kernel.set_state(self.q, self.qd, self.stamp_ns)
