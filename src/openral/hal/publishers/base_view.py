"""BaseView: transforms from the robot's root frame to its base frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.graph.states import PrimitiveShape
from openral.hal.snapshot import Snapshot
from openral.manifest import RobotDescription
from openral.manifest.kinematics import Kinematics
from openral.ros import msg

Matrix = NDArray[np.float64]


class BaseView:
    """Tracks the base frame, which moves on a mobile robot."""

    def __init__(self, robot: RobotDescription) -> None:
        self._kinematics = Kinematics(robot)
        self._index = self._kinematics.links.index(robot.base_frame)
        self._mobile = bool(robot.base_joints)
        home = np.array(robot.home_position, float)
        self._fixed = np.asarray(np.linalg.inv(self._base(home)), float)

    def _base(self, q: Matrix) -> Matrix:
        return np.asarray(self._kinematics.poses(q)[self._index], float)

    def from_root(self, snapshot: Snapshot) -> Matrix:
        """The 4×4 matrix that transforms root coordinates to base coordinates."""
        if not self._mobile:
            return self._fixed
        return np.asarray(np.linalg.inv(self._base(snapshot.positions)), float)


def box(
    name: str, pose: Matrix, half: tuple[float, float, float], from_root: Matrix
) -> msg.CollisionPrimitive:
    """A box in the base frame.

    `pose`: in the root frame, x y z in m and quaternion w x y z. `half`: half extents in m.
    """
    turn = Rotation.from_matrix(from_root[:3, :3]) * Rotation.from_quat(pose[3:], scalar_first=True)
    x, y, z = (from_root[:3, :3] @ pose[:3] + from_root[:3, 3]).tolist()
    qx, qy, qz, qw = turn.as_quat().tolist()
    place = msg.Pose(msg.Point(x, y, z), msg.Quaternion(qx, qy, qz, qw))
    return msg.CollisionPrimitive(
        id=name, shape=int(PrimitiveShape.BOX), pose=place, size=2.0 * np.array(half)
    )
