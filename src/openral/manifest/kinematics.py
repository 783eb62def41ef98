"""Forward kinematics of a described robot, computed by the C++ core."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openral import _core
from openral.errors import ConfigError
from openral.manifest.base import Transform, Vec3
from openral.manifest.joint import Joint, JointType
from openral.manifest.robot import RobotDescription

_KINDS = {
    JointType.FIXED: 0,
    JointType.REVOLUTE: 1,
    JointType.CONTINUOUS: 1,
    JointType.PRISMATIC: 2,
}


def matrix(xyz: Vec3, rpy: Vec3) -> NDArray[np.float64]:
    """The 4×4 matrix of a position in m and roll, pitch, yaw about fixed axes in rad."""
    # Imported on use: it would be half the start-up of a program that only reads manifests.
    from scipy.spatial.transform import Rotation

    out = np.eye(4)
    out[:3, :3] = Rotation.from_euler("xyz", rpy).as_matrix()
    out[:3, 3] = xyz
    return out


def transform(pose: NDArray[np.float64], digits: int = 9) -> Transform:
    """A 4×4 matrix as a Transform, rounded to `digits` decimals."""
    from scipy.spatial.transform import Rotation

    with np.errstate(all="ignore"):
        rpy = Rotation.from_matrix(pose[:3, :3]).as_euler("xyz", suppress_warnings=True)
    return Transform(xyz=vec3(pose[:3, 3], digits), rpy=vec3(rpy, digits))


def vec3(values: ArrayLike, digits: int = 9) -> Vec3:
    """Three plain floats, rounded to `digits` decimals, without negative zeros."""
    x, y, z = (round(float(v), digits) + 0.0 for v in np.asarray(values, float))
    return (x, y, z)


def joints_from_root(robot: RobotDescription) -> list[Joint]:
    """All joints, each after the joint that carries its parent link; siblings in manifest order."""
    order: list[Joint] = []

    def visit(link: str) -> None:
        for joint in robot.joints:
            if joint.parent == link:
                order.append(joint)
                visit(joint.child)

    visit(robot.root)
    return order


class Kinematics:
    """Link poses for joint positions in the order of the robot's driven joints."""

    def __init__(self, robot: RobotDescription) -> None:
        joints = joints_from_root(robot)
        self.links = [robot.root, *(joint.child for joint in joints)]
        self.dof = len(robot.driven)
        index = {name: i for i, name in enumerate(self.links)}
        column = {name: i for i, name in enumerate(robot.joint_names)}
        driver = [joint.mimic.joint if joint.mimic else joint.name for joint in joints]
        self._tree = _core.Tree.make(
            kinds=np.array([_KINDS[joint.type] for joint in joints], np.int32),
            parents=np.array([index[joint.parent] for joint in joints], np.int32),
            origins=np.array([matrix(j.origin.xyz, j.origin.rpy) for j in joints]).reshape(
                -1, 4, 4
            ),
            axes=np.array([joint.axis for joint in joints], float).reshape(-1, 3),
            coordinates=np.array([column.get(name, -1) for name in driver], np.int32),
            multipliers=np.array([j.mimic.multiplier if j.mimic else 1.0 for j in joints], float),
            offsets=np.array([j.mimic.offset if j.mimic else 0.0 for j in joints], float),
            dof=self.dof,
        )

    def poses(self, q: ArrayLike) -> NDArray[np.float64]:
        """Poses of all links in the root frame, in the order of `links`.

        Shape (links, 4, 4) for `q` of shape (dof,), (n, links, 4, 4) for (n, dof); rad and m.
        """
        rows = np.atleast_2d(np.ascontiguousarray(q, float))
        if rows.shape[1] != self.dof:
            raise ConfigError(f"{rows.shape[1]} joint positions given, the robot has {self.dof}")
        poses: NDArray[np.float64] = self._tree.forward(rows)
        return poses if np.ndim(q) == 2 else poses[0]
