"""Pusher: joint paths that move a hand over, down to and along a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.skill.builtin.arm import Arm
from openral.skill.builtin.tool_shape import ToolShape

Vector = NDArray[np.float64]

_DOWN = np.array([0.0, 0.0, -1.0])
_STEP_M = 0.02  # between two solved points of a straight line


@dataclass(frozen=True)
class Pace:
    """The largest step from one row to the next."""

    joints: Vector
    """Of each joint, (dof,), in rad or m."""
    travel: float
    """Translation of the tool, in m."""
    turn: float
    """Rotation of the tool, in rad."""


class Pusher:
    """Straight tool paths above a table, as rows (n, dof) of joint positions."""

    def __init__(self, arm: Arm, shape: ToolShape, table: float, gap: float, pace: Pace) -> None:
        self.arm, self.shape = arm, shape
        self.table = table
        """Height of the table's top in the world, in m."""
        self.gap = gap
        """Clearance between hand and table at height zero, in m."""
        self._pace = pace

    def over(self, xy: Vector, height: float, seed: Vector) -> Vector | None:
        """Joint positions (dof,) with the hand's lowest point `height` above the gap; None if none.

        `xy` is the tool's position in the world and `height` is over table and gap, both in m.
        """
        goal = self.table + self.gap + height
        q, z = seed, goal - self.shape.lowest(self.arm.tool(seed)) + self.arm.tool(seed)[2, 3]
        for _ in range(4):
            found = self.arm.solve(np.array([*xy, z]), _DOWN, q)
            if found is None:
                return None
            q = found
            off = goal - self.shape.lowest(self.arm.tool(q))
            if abs(off) < 1e-3:
                break
            z += off
        return q

    def line(
        self, q: Vector, xy: Vector, height: float, travel: float | None = None
    ) -> Vector | None:
        """Rows of a straight tool path from the pose at `q` to `xy` and `height`; None if none.

        `travel` limits the tool's translation per row, in m, where that is less than the pace.
        """
        tool = self.arm.tool(q)
        start = np.array([*tool[:2, 3], self.shape.lowest(tool) - self.table - self.gap])
        end = np.array([*xy, height])
        count = max(1, int(np.ceil(np.linalg.norm(end - start) / _STEP_M)))
        path = [q]
        for share in np.linspace(0, 1, count + 1)[1:]:
            point = start + share * (end - start)
            found = self.over(point[:2], float(point[2]), path[-1])
            if found is None:
                return None
            path.append(found)
        return self.timed(np.array(path), travel)

    def swing(self, q: Vector, xy: Vector, height: float) -> Vector | None:
        """Rows of a straight joint-space path to a fresh IK solution, where `line` finds none."""
        found = self.over(xy, height, self.rested(q))
        return None if found is None else self.timed(np.array([q, found]))

    def rested(self, q: Vector) -> Vector:
        """`q` with the arm's joints at home."""
        out = np.array(q)
        out[self.arm.columns] = self.arm.rest
        return out

    def timed(self, path: Vector, travel: float | None = None) -> Vector:
        """Resamples a path (m, dof) into rows that respect the pace of joints and tool."""
        tools = self.arm.tool(path)
        joints = np.max(np.abs(np.diff(path, axis=0)) / self._pace.joints, axis=1)
        most = min(self._pace.travel, travel or np.inf)
        moved = np.linalg.norm(np.diff(tools[:, :3, 3], axis=0), axis=1) / most
        turned = np.einsum("nji,njk->nik", tools[:-1, :3, :3], tools[1:, :3, :3])
        turn = Rotation.from_matrix(turned).magnitude() / self._pace.turn
        counts = np.maximum(np.maximum(joints, moved), np.maximum(turn, 1e-9))
        # Rows are spread evenly over the whole path, so that the speed does not jump between rows.
        marks = np.concatenate([[0.0], np.cumsum(counts)])
        total = float(marks[-1])
        where = np.linspace(0, total, max(1, int(np.ceil(total))) + 1)[1:]
        return np.array(
            [np.interp(where, marks, path[:, column]) for column in range(path.shape[1])]
        ).T
