"""Parts of a chunk in execution: the targets of each slot's joints at a time since the start.

Row i is reached at (i + 1)·dt; the path to row 0 begins at the servo targets at the chunk's start,
so that no part begins with a jump. `told`: the servo targets of all joints, (dof,) in rad or m.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.hal.execution.so3 import rotation_matrix, rotation_vector
from openral.hal.execution.tool_ik import ToolIK

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Columns = NDArray[np.int_]


class SlotTrajectory(Protocol):
    """One slot. Its `values` are joint positions, or torques if `torque` is set."""

    columns: Columns
    """Indices of the joints that it owns."""
    torque: bool
    cartesian: bool

    def begin(self, told: Vector) -> None:
        """Starts from the present servo targets of all joints."""

    def values(self, seconds: float, told: Vector, reach: Vector) -> Vector:
        """Targets of its joints `seconds` after the start, (len(columns),).

        No joint should move further than `reach` from `told`.
        """


class JointPath:
    """Joint positions, interpolated linearly from row to row."""

    torque = cartesian = False

    def __init__(self, columns: Columns, rows: Matrix, dt: float) -> None:
        self.columns, self._rows, self._dt = columns, rows, dt
        self._way = rows

    def begin(self, told: Vector) -> None:
        """The path to row 0 begins here."""
        self._way = np.vstack([told[self.columns], self._rows])

    def values(self, seconds: float, told: Vector, reach: Vector) -> Vector:
        """The interpolated point on the path."""
        return along(self._way, seconds / self._dt)


class JointRates:
    """Joint velocities: a path that begins at the servo targets at the start."""

    torque = cartesian = False

    def __init__(self, columns: Columns, rows: Matrix, dt: float) -> None:
        self.columns, self._dt = columns, dt
        self._travel = np.vstack([np.zeros(rows.shape[1]), np.cumsum(rows, axis=0) * dt])
        self._start = np.zeros(rows.shape[1])

    def begin(self, told: Vector) -> None:
        """The travel is added to these positions."""
        self._start = told[self.columns].copy()

    def values(self, seconds: float, told: Vector, reach: Vector) -> Vector:
        """The start position plus the travel so far."""
        return self._start + along(self._travel, seconds / self._dt)


class SteppedRows:
    """Rows that are constant for their dt each."""

    torque = cartesian = False

    def __init__(self, columns: Columns, rows: Matrix, dt: float) -> None:
        self.columns, self._rows, self._dt = columns, rows, dt

    def begin(self, told: Vector) -> None:
        """Does nothing: the rows do not depend on the start."""

    def values(self, seconds: float, told: Vector, reach: Vector) -> Vector:
        """The current row; at a boundary the row that ends there."""
        row = int(np.ceil(seconds / self._dt - 1e-9)) - 1
        return np.asarray(self._rows[min(max(row, 0), len(self._rows) - 1)])


class JointTorques(SteppedRows):
    """Joint torques, in N·m (N for prismatic joints)."""

    torque = True


class Grip(SteppedRows):
    """A gripper's goals; it approaches them at its speed limit."""


class BodyTwist:
    """A planar base that follows arcs: forward, left (m/s) and yaw rate (rad/s) in its frame."""

    torque = cartesian = False

    def __init__(self, columns: Columns, rows: Matrix, dt: float) -> None:
        self.columns, self._rows, self._dt = columns, rows, dt
        self._way = [np.zeros(3)]

    def begin(self, told: Vector) -> None:
        """Computes the pose at each row from here."""
        self._way = [told[self.columns].copy()]
        for twist in self._rows:
            self._way.append(driven(self._way[-1], twist, self._dt))

    def values(self, seconds: float, told: Vector, reach: Vector) -> Vector:
        """The pose on the arc."""
        row = min(int(seconds / self._dt), len(self._rows) - 1)
        rest = min(seconds - row * self._dt, self._dt)
        return driven(self._way[row], self._rows[row], rest)


class ToolPath:
    """Poses of a tool: absolute rows, or steps that add up in the base or the tool frame."""

    torque, cartesian = False, True

    def __init__(
        self, ik: ToolIK, rows: Matrix, dt: float, *, absolute: bool, in_tool: bool = False
    ) -> None:
        """Absolute rows are x y z (m) and quaternion x y z w.

        Other rows are steps: translation (m) and rotation vector (rad), in the base frame or, with
        `in_tool`, in the tool frame.
        """
        self.columns, self._ik, self._dt = ik.columns, ik, dt
        self._rows, self._absolute, self._in_tool = rows, absolute, in_tool
        self._way: list[Matrix] = []
        self._turns: list[Vector] = []

    def begin(self, told: Vector) -> None:
        """Computes the pose at each row; steps add up from the tool's present pose."""
        self._way = [self._ik.pose(told)]
        for row in self._rows:
            self._way.append(_pose(row) if self._absolute else self._moved(self._way[-1], row))
        self._turns = [
            rotation_vector(after[:3, :3] @ before[:3, :3].T)
            for before, after in zip(self._way, self._way[1:], strict=False)
        ]

    def values(self, seconds: float, told: Vector, reach: Vector) -> Vector:
        """Joint positions that move the tool towards its pose on the path."""
        row = min(int(seconds / self._dt), len(self._rows) - 1)
        share = min(seconds / self._dt - row, 1.0)
        before, after = self._way[row], self._way[row + 1]
        target = np.eye(4)
        target[:3, :3] = rotation_matrix(self._turns[row] * share) @ before[:3, :3]
        target[:3, 3] = before[:3, 3] + share * (after[:3, 3] - before[:3, 3])
        return np.asarray(self._ik.towards(told, target, reach)[self.columns])

    def _moved(self, before: Matrix, row: Vector) -> Matrix:
        turn = rotation_matrix(row[3:])
        after = before.copy()
        if self._in_tool:
            after[:3, 3] += before[:3, :3] @ row[:3]
            after[:3, :3] = before[:3, :3] @ turn
        else:
            after[:3, 3] += row[:3]
            after[:3, :3] = turn @ before[:3, :3]
        return after


def along(way: Matrix, at: float) -> Vector:
    """The point `at` rows along a polyline of shape (n, k); beyond its end the last point."""
    row = min(int(at), len(way) - 2)
    share = min(max(at - row, 0.0), 1.0)
    return np.asarray((1.0 - share) * way[row] + share * way[row + 1])


def driven(pose: Vector, twist: Vector, seconds: float) -> Vector:
    """A base's pose (x, y, yaw) after driving with a constant twist in its own frame."""
    x, y, yaw = pose
    turn = twist[2] * seconds
    sine = np.sinc(turn / np.pi)  # sin(turn) / turn
    versine = turn / 2 * np.sinc(turn / 2 / np.pi) ** 2  # (1 - cos(turn)) / turn
    ahead = (twist[0] * sine - twist[1] * versine) * seconds
    left = (twist[0] * versine + twist[1] * sine) * seconds
    return np.array(
        [
            x + np.cos(yaw) * ahead - np.sin(yaw) * left,
            y + np.sin(yaw) * ahead + np.cos(yaw) * left,
            yaw + turn,
        ]
    )


def _pose(row: Vector) -> Matrix:
    out = np.eye(4)
    out[:3, :3] = Rotation.from_quat(row[3:]).as_matrix()
    out[:3, 3] = row[:3]
    return out
