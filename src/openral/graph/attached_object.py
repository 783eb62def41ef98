"""Attached objects: simple shapes that move with a link of the robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral import _core
from openral.errors import ConfigError, choices
from openral.graph.states import PrimitiveShape

Vec3 = tuple[float, float, float]


@dataclass(frozen=True)
class AttachedObject:
    """A capsule around an attached object, in the frame of its link, in m."""

    id: str
    link: str
    p0: Vec3
    p1: Vec3
    radius: float
    touches: tuple[str, ...] = ()
    """Links that may touch it, besides the one that it is attached to."""

    def in_kernel(self, links: list[str]) -> _core.AttachedObject:
        """Converts to the kernel's type; `links`: link names in the kernel's order."""
        for name in (self.link, *self.touches):
            if name not in links:
                raise ConfigError(f"object '{self.id}': no link '{name}'; {choices(name, links)}")
        touches = [links.index(name) for name in self.touches]
        return _core.AttachedObject(
            self.id, links.index(self.link), self.p0, self.p1, self.radius, touches
        )

    def row(self) -> NDArray[np.float64]:
        """Both end points and the radius in m, shape (7,)."""
        return np.array([*self.p0, *self.p1, self.radius])


def held_object(primitive: Any) -> AttachedObject:
    """Converts an attached CollisionPrimitive: the smallest capsule along its longest axis."""
    half, radius = _half_axis(primitive)
    at, turn = primitive.pose.position, primitive.pose.orientation
    centre = np.array([at.x, at.y, at.z])
    quaternion = np.array([turn.x, turn.y, turn.z, turn.w])
    numbers = np.array([*centre, *quaternion, *half, radius])
    if not np.isfinite(numbers).all() or radius < 0 or not 0.5 < np.linalg.norm(quaternion) < 2:
        raise ConfigError(
            f"object '{primitive.id}' on link '{primitive.attached_link}': "
            "its pose or size is not finite, negative or no orientation"
        )
    way = Rotation.from_quat(quaternion).apply(half)
    return AttachedObject(
        primitive.id,
        primitive.attached_link,
        _vec(centre - way),
        _vec(centre + way),
        radius,
        tuple(primitive.touch_links),
    )


def _half_axis(primitive: Any) -> tuple[NDArray[np.float64], float]:
    """Half of the capsule's axis in the object's own frame, shape (3,), and its radius, in m."""
    size = np.array([float(v) for v in primitive.size])
    if primitive.shape == PrimitiveShape.SPHERE:
        return np.zeros(3), float(size[0])
    if primitive.shape == PrimitiveShape.CAPSULE:
        return np.array([0.0, 0.0, size[1] / 2]), float(size[0])
    if primitive.shape == PrimitiveShape.BOX:
        longest = int(np.argmax(size))
        across = np.delete(size, longest) / 2
        half = np.zeros(3)
        half[longest] = size[longest] / 2
        return half, float(np.hypot(*across))
    raise ConfigError(f"object '{primitive.id}' has shape {primitive.shape}; valid: 0 to 2")


def _vec(values: NDArray[np.float64]) -> Vec3:
    return float(values[0]), float(values[1]), float(values[2])
