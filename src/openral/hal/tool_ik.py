"""ToolIK: differential inverse kinematics of one end effector, on the manifest's own chain.

Damped least squares: of all joint steps that bring the tool nearer it takes the smallest, as the
safety kernel assumes, and it scales a step down as a whole until every joint keeps to its rate.
It needs no simulator, so cartesian modes are the same thing on a twin and on hardware.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.manifest import Kinematics, RobotDescription
from openral.manifest.joint import Joint
from openral.manifest.kinematics import matrix
from openral.manifest.parts import EndEffector

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_DAMPING = 0.02
_ITERATIONS = 3
_CLOSE_ENOUGH = 1e-7


class ToolIK:
    """Poses and joint steps of a tool, in the robot's base frame."""

    def __init__(self, robot: RobotDescription, effector: EndEffector) -> None:
        self._kinematics = Kinematics(robot)
        links = self._kinematics.links
        self._base = links.index(robot.base_frame)
        self._link = links.index(effector.link)
        self._tcp = matrix(effector.tcp.xyz, effector.tcp.rpy)
        chain = _chain(robot, effector.link)
        columns = [robot.joint_names.index(j.mimic.joint if j.mimic else j.name) for j in chain]
        self.columns = np.array(sorted(set(columns)), dtype=int)
        """The driven joints that move the tool, by index."""
        self._children = np.array([links.index(joint.child) for joint in chain], dtype=int)
        axes = np.array([joint.axis for joint in chain], float).reshape(-1, 3)
        self._axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
        self._slides = np.array([joint.linear for joint in chain], dtype=bool)
        self._share = np.zeros((len(chain), len(self.columns)))
        for row, (joint, column) in enumerate(zip(chain, columns, strict=True)):
            at = int(np.searchsorted(self.columns, column))
            self._share[row, at] = joint.mimic.multiplier if joint.mimic else 1.0
        ranges = np.array([robot.driven[i].position_range for i in self.columns], float)
        self._low, self._high = ranges.reshape(-1, 2).T

    def pose(self, q: Vector) -> Matrix:
        """The tool in the base frame, 4×4, for all driven joints' positions."""
        poses = self._kinematics.poses(q)
        return np.asarray(_inverse(poses[self._base]) @ poses[self._link] @ self._tcp)

    def towards(self, q: Vector, target: Matrix, reach: Vector) -> Vector:
        """All joints after a step towards the target in which none moves further than `reach`."""
        out = np.array(q, float)
        for _ in range(_ITERATIONS):
            error, jacobian = self._linearised(out, target)
            if np.abs(error).max(initial=0.0) < _CLOSE_ENOUGH:
                break
            out[self.columns] += self._step(out[self.columns], error, jacobian)
        moved = out[self.columns] - q[self.columns]
        ratio = np.abs(moved) / reach[self.columns]
        out[self.columns] = q[self.columns] + moved / max(1.0, float(ratio.max(initial=0.0)))
        return out

    def _step(self, q: Vector, error: Vector, jacobian: Matrix) -> Vector:
        """The damped step; a joint that it would push out of its range does not take part."""
        free = np.ones(q.size, dtype=bool)
        step = np.zeros(q.size)
        for _ in range(q.size):
            used = jacobian * free
            gram = used @ used.T + _DAMPING**2 * np.eye(6)
            step = used.T @ np.linalg.solve(gram, error)
            after = q + step
            out = free & (((after < self._low) & (step < 0)) | ((after > self._high) & (step > 0)))
            if not out.any():
                break
            free &= ~out
        return step

    def _linearised(self, q: Vector, target: Matrix) -> tuple[Vector, Matrix]:
        """What the tool lacks to the target (shift, rotation vector), and its Jacobian."""
        poses = self._kinematics.poses(q)
        to_base = _inverse(poses[self._base])
        tool = to_base @ poses[self._link] @ self._tcp
        turn = Rotation.from_matrix(target[:3, :3] @ tool[:3, :3].T).as_rotvec()
        error = np.concatenate([target[:3, 3] - tool[:3, 3], turn])
        frames = to_base @ poses[self._children]
        axes = np.einsum("nij,nj->ni", frames[:, :3, :3], self._axes)
        arms = tool[:3, 3] - frames[:, :3, 3]
        slides = self._slides[:, None]
        linear = np.where(slides, axes, np.cross(axes, arms))
        angular = np.where(slides, 0.0, axes)
        return error, np.hstack([linear, angular]).T @ self._share


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
