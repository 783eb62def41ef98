"""Rigid transforms, and conversions to and from messages and matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from openral.errors import TransformError
from openral.ros import msg
from openral.ros.stamps import time_message, time_ns

Vector = NDArray[np.float64]
_UNIT_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Rigid:
    """Rotation, then translation (m, shape (3,)): `p_parent = T.apply(p_child)`."""

    translation: Vector
    rotation: Rotation

    @classmethod
    def identity(cls) -> Rigid:
        """The identity transform."""
        return cls(np.zeros(3), Rotation.identity())

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Rigid:
        """From a homogeneous matrix, shape (4, 4)."""
        pose = np.asarray(matrix, float)
        if pose.shape != (4, 4) or not np.allclose(pose[3], (0, 0, 0, 1)):
            raise TransformError(f"no homogeneous 4×4 matrix: shape {pose.shape}")
        return cls(pose[:3, 3].copy(), Rotation.from_matrix(pose[:3, :3]))

    def matrix(self) -> Vector:
        """As a homogeneous matrix, shape (4, 4)."""
        pose = np.eye(4)
        pose[:3, :3] = self.rotation.as_matrix()
        pose[:3, 3] = self.translation
        return pose

    def __matmul__(self, inner: Rigid) -> Rigid:
        moved = self.rotation.apply(inner.translation) + self.translation
        return Rigid(moved, self.rotation * inner.rotation)

    def inverse(self) -> Rigid:
        """The inverse transform."""
        back = self.rotation.inv()
        return Rigid(-back.apply(self.translation), back)

    def apply(self, points: ArrayLike) -> Vector:
        """Transforms one point, shape (3,), or many, shape (n, 3)."""
        return np.asarray(self.rotation.apply(np.asarray(points, float)) + self.translation)

    def interpolate(self, other: Rigid, fraction: float) -> Rigid:
        """The pose at `fraction` (0 to 1) of the path to `other`.

        Linear in position, shortest arc in rotation.
        """
        step = (self.rotation.inv() * other.rotation).as_rotvec() * fraction
        offset = (other.translation - self.translation) * fraction
        return Rigid(self.translation + offset, self.rotation * Rotation.from_rotvec(step))

    def to_transform(self) -> msg.Transform:
        """As geometry_msgs/Transform."""
        x, y, z = self.translation.tolist()
        return msg.Transform(msg.Vector3(x, y, z), self._quaternion())

    def to_pose(self) -> msg.Pose:
        """As geometry_msgs/Pose."""
        x, y, z = self.translation.tolist()
        return msg.Pose(msg.Point(x, y, z), self._quaternion())

    def _quaternion(self) -> msg.Quaternion:
        x, y, z, w = self.rotation.as_quat().tolist()
        return msg.Quaternion(x, y, z, w)


def from_message(message: msg.Transform | msg.Pose) -> Rigid:
    """From geometry_msgs/Transform or Pose; TransformError if it is not a rigid transform."""
    place: msg.Point | msg.Vector3
    if isinstance(message, msg.Pose):
        place, turn = message.position, message.orientation
    else:
        place, turn = message.translation, message.rotation
    translation = np.array((place.x, place.y, place.z))
    quaternion = np.array((turn.x, turn.y, turn.z, turn.w))
    norm = float(np.linalg.norm(quaternion))
    if not np.isfinite(translation).all():
        raise TransformError(f"translation {translation.tolist()} is not finite")
    if not abs(norm - 1) <= _UNIT_TOLERANCE:
        raise TransformError(f"quaternion {quaternion.tolist()} has length {norm:.4g}; expected 1")
    return Rigid(translation, Rotation.from_quat(quaternion))


def stamped(parent: str, child: str, stamp: int, transform: Rigid) -> msg.TransformStamped:
    """The pose of `child` in `parent` at `stamp` (ns), as a message."""
    header = msg.Header(stamp=to_time(stamp), frame_id=parent)
    return msg.TransformStamped(header, child, transform.to_transform())


def to_nanoseconds(time: msg.Time | int) -> int:
    """A stamp in ns; an integer is returned unchanged."""
    return time if isinstance(time, int) else time_ns(time)


def to_time(nanoseconds: int) -> msg.Time:
    """The inverse of `to_nanoseconds`."""
    return time_message(nanoseconds)
