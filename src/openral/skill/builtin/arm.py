"""Arm: inverse kinematics of one arm of a robot, for a tool position and a pointing direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openral.manifest import Kinematics, RobotDescription
from openral.manifest.kinematics import matrix
from openral.manifest.parts import EndEffector
from openral.sim.building.reach import arm_joints

Vector = NDArray[np.float64]

_DELTA = 1e-6
_DAMPING = 1e-4
# Position error in m that costs as much as 1 rad of axis error; smaller weights are tried when a
# larger one finds no solution.
_AXIS_WEIGHTS_M = (0.05, 0.005, 0.0005)
_REST_WEIGHT = 1e-3
_MAX_STEP_RAD = 0.25
_EDGE = 0.01  # margin to the joint limits, as a fraction of the range


class Arm:
    """Solves for tool positions in the world frame; joints of other parts keep their seed values.

    `root_pose` is the robot's root in the world, 4×4; by default the two frames coincide.
    """

    def __init__(
        self, robot: RobotDescription, effector: EndEffector, root_pose: Vector | None = None
    ) -> None:
        self.robot, self.effector = robot, effector
        self.kinematics = Kinematics(robot)
        joints = arm_joints(robot, effector)
        self.columns = np.array([robot.joint_names.index(joint.name) for joint in joints])
        self._root = np.eye(4) if root_pose is None else root_pose
        self._tool = matrix(effector.tcp.xyz, effector.tcp.rpy)
        self._link = self.kinematics.links.index(effector.link)
        low, high = np.array([joint.position_range for joint in joints]).T
        edge = np.where(np.isfinite(high - low), _EDGE * (high - low), 0.0)
        self.low, self.high = low + edge, high - edge
        self.rest = np.array(robot.home_position)[self.columns]

    def tool(self, q: Vector) -> Vector:
        """Tool pose (4, 4) in the world for joint positions (dof,); (n, 4, 4) for (n, dof)."""
        poses = self.kinematics.poses(q)
        pose = poses[..., self._link, :, :]
        return np.asarray(self._root @ pose @ self._tool)

    def solve(
        self,
        point: Vector,
        axis: Vector,
        seed: Vector,
        tolerance_m: float = 1e-3,
        iterations: int = 80,
    ) -> Vector | None:
        """Joint positions (dof,) near `seed` with the tool at `point` and its z along `axis`.

        `point` is in m and `axis` a unit vector, both in the world frame. The point is met within
        the tolerance or the result is None; the axis is met as closely as the arm can.
        """
        for weight in _AXIS_WEIGHTS_M:
            found = self._descend(point, axis, seed, weight, tolerance_m, iterations)
            if found is not None:
                return found
        return None

    def _descend(
        self,
        point: Vector,
        axis: Vector,
        seed: Vector,
        weight: float,
        tolerance_m: float,
        iterations: int,
    ) -> Vector | None:
        q = np.array(seed, float)
        q[self.columns] = np.clip(q[self.columns], self.low, self.high)
        best, best_error = None, tolerance_m
        for _ in range(iterations):
            poses = self.tool(np.vstack([q, q + _DELTA * self._units(q)]))
            error = _errors(poses, point, axis, weight)
            miss = float(np.linalg.norm(error[0, :3]))
            if miss < best_error:
                best, best_error = q.copy(), miss
            jacobian = (error[1:] - error[0]).T / _DELTA
            if miss < 0.2 * tolerance_m and np.linalg.norm(error[0, 3:]) < 1e-3:
                break
            step = self._step(jacobian, error[0], q)
            q[self.columns] = np.clip(q[self.columns] + step, self.low, self.high)
            if np.max(np.abs(step)) < 1e-6:
                break
        return best

    def _step(self, jacobian: Vector, error: Vector, q: Vector) -> Vector:
        rest = _REST_WEIGHT * np.eye(len(self.columns))
        rows = np.vstack([jacobian, rest])
        values = np.concatenate([-error, rest @ (self.rest - q[self.columns])])
        normal = rows.T @ rows + _DAMPING * np.eye(rows.shape[1])
        step = np.linalg.solve(normal, rows.T @ values)
        return np.asarray(step * min(1.0, _MAX_STEP_RAD / max(1e-12, np.max(np.abs(step)))))

    def _units(self, q: Vector) -> Vector:
        out = np.zeros((len(self.columns), len(q)))
        out[np.arange(len(self.columns)), self.columns] = 1.0
        return out


def _errors(poses: Vector, point: Vector, axis: Vector, weight: float) -> Vector:
    """Position error and weighted axis error of each pose, shape (n, 6)."""
    off = np.cross(axis, poses[:, :3, 2])
    away = (poses[:, :3, 2] @ axis < 0)[:, None]  # beyond 90° the cross product shrinks again
    length = np.linalg.norm(off, axis=1, keepdims=True)
    off = np.where(away, off / np.maximum(length, 1e-9) * (2 - length), off)
    return np.hstack([poses[:, :3, 3] - point, weight * off])
