"""ToolIK: differential inverse kinematics of one end effector, on the manifest's kinematic chain.

Damped least squares: of all joint steps that bring the tool nearer it takes the smallest, and it
scales a step down as a whole until every joint keeps its speed limit. It needs no simulator, so
that Cartesian modes are the same on a twin and on hardware. Behind a safety kernel it is not used:
the kernel passes on the joint rows that it has proven.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openral.hal.execution.so3 import rotation_vector
from openral.manifest import Kinematics, RobotDescription
from openral.manifest.joint import Joint
from openral.manifest.kinematics import matrix
from openral.manifest.parts import EndEffector

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_DAMPING = 0.02
_ITERATIONS = 2
_NEAR = 2e-3


class ToolIK:
    """Poses and joint steps of a tool; poses are in the robot's base frame."""

    def __init__(self, robot: RobotDescription, effector: EndEffector) -> None:
        self._kinematics = Kinematics(robot)
        links = self._kinematics.links
        self._base = links.index(robot.base_frame)
        self._link = links.index(effector.link)
        self._tcp = matrix(effector.tcp.xyz, effector.tcp.rpy)
        chain = _chain(robot, effector.link)
        columns = [robot.joint_names.index(j.mimic.joint if j.mimic else j.name) for j in chain]
        self.columns = np.array(sorted(set(columns)), dtype=int)
        """Indices of the driven joints that move the tool."""
        self._children = np.array([links.index(joint.child) for joint in chain], dtype=int)
        axes = np.array([joint.axis for joint in chain], float).reshape(-1, 3)
        self._axes = (axes / np.linalg.norm(axes, axis=1, keepdims=True))[:, :, None]
        self._slides = np.array([joint.linear for joint in chain], dtype=bool)
        self._share = np.zeros((len(chain), len(self.columns)))
        for row, (joint, column) in enumerate(zip(chain, columns, strict=True)):
            at = int(np.searchsorted(self.columns, column))
            self._share[row, at] = joint.mimic.multiplier if joint.mimic else 1.0
        ranges = np.array([robot.driven[i].position_range for i in self.columns], float)
        self._low, self._high = ranges.reshape(-1, 2).T
        self._damping = _DAMPING**2 * np.eye(6)

    def pose(self, q: Vector) -> Matrix:
        """The tool's pose in the base frame, 4×4; `q`: positions of all driven joints, (dof,)."""
        poses = self._kinematics.poses(q)
        return np.asarray(_inverse(poses[self._base]) @ poses[self._link] @ self._tcp)

    def towards(self, q: Vector, target: Matrix, reach: Vector) -> Vector:
        """All joints after a step towards `target` (4×4); none moves further than `reach`."""
        out = np.array(q, float)
        for _ in range(_ITERATIONS):
            error, jacobian = self._linearised(out, target)
            out[self.columns] += self._step(out[self.columns], error, jacobian)
            if float(error @ error) < _NEAR**2:  # close enough: the next tick corrects the rest
                break
        moved = out[self.columns] - q[self.columns]
        ratio = np.abs(moved) / reach[self.columns]
        out[self.columns] = q[self.columns] + moved / max(1.0, float(ratio.max(initial=0.0)))
        return out

    def _step(self, q: Vector, error: Vector, jacobian: Matrix) -> Vector:
        """The damped step; a joint that it would push out of its range is excluded."""
        used, free = jacobian, np.ones(q.size, dtype=bool)
        while True:
            step = used.T @ np.linalg.solve(used @ used.T + self._damping, error)
            after = q + step
            out = ((after < self._low) & (step < 0)) | ((after > self._high) & (step > 0))
            if not (out & free).any():
                return np.asarray(step)
            free &= ~out
            used = jacobian * free

    def _linearised(self, q: Vector, target: Matrix) -> tuple[Vector, Matrix]:
        """The tool's error to the target (translation, rotation vector), (6,), and its Jacobian.

        Both in the root frame, which saves rotating every joint's frame into the base frame.
        """
        poses = self._kinematics.poses(q)
        tool = poses[self._link] @ self._tcp
        wanted = poses[self._base] @ target
        error = np.empty(6)
        error[:3] = wanted[:3, 3] - tool[:3, 3]
        error[3:] = rotation_vector(wanted[:3, :3] @ tool[:3, :3].T)
        frames = poses[self._children]
        axes = (frames[:, :3, :3] @ self._axes)[:, :, 0]
        x, y, z = axes.T
        u, v, w = (tool[:3, 3] - frames[:, :3, 3]).T
        rows = np.array([y * w - z * v, z * u - x * w, x * v - y * u, x, y, z])
        if self._slides.any():
            rows[:3, self._slides] = axes[self._slides].T
            rows[3:, self._slides] = 0.0
        return error, rows @ self._share


def _chain(robot: RobotDescription, link: str) -> list[Joint]:
    """Moving joints from the base frame to a link."""
    found: list[Joint] = []
    while link != robot.base_frame and link in robot.parent_joint:
        joint = robot.parent_joint[link]
        if joint.moves:
            found.append(joint)
        link = joint.parent
    return found[::-1]


def _inverse(pose: Matrix) -> Matrix:
    out = np.eye(4)
    out[:3, :3] = pose[:3, :3].T
    out[:3, 3] = -out[:3, :3] @ pose[:3, 3]
    return out
