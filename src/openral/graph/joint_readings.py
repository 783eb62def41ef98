"""The whole robot's joint state, assembled from messages that may carry parts of it."""

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
    """Keeps each joint's latest reading; the state is as old as its oldest reading.

    `q` (rad or m) and `qd` (rad/s or m/s) have shape (dof,), in the manifest's order; NaN: unknown.
    """

    def __init__(self, robot: RobotDescription) -> None:
        self._column = {name: i for i, name in enumerate(robot.joint_names)}
        self.names = robot.joint_names
        self.q = np.full(len(self._column), np.nan)
        self.qd = np.full(len(self._column), np.nan)
        self._stamps = [0] * len(self._column)

    @property
    def stamp_ns(self) -> int:
        """Stamp of the oldest reading in ns; 0 while a joint has none."""
        return min(self._stamps, default=0)

    @property
    def complete(self) -> bool:
        """Whether every joint has a position and a velocity."""
        return bool(np.isfinite(self.q).all() and np.isfinite(self.qd).all())

    def take(self, message: Any) -> None:
        """Takes a JointState; joints of other robots are ignored, missing numbers become NaN."""
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
        """Passes the state on to the kernel."""
        kernel.set_state(self.q, self.qd, self.stamp_ns)
