"""Obstacles as the kernel checks them: named spheres, capsules and boxes, and voxel grids."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral import _core
from openral.errors import ConfigError
from openral.graph.states import PrimitiveShape

Vec3 = tuple[float, float, float]


@dataclass(frozen=True)
class Sphere:
    """A sphere, in m."""

    id: str
    centre: Vec3
    radius: float

    def primitive(self) -> _core.Primitive:
        """Converts to the kernel's type."""
        return _core.Primitive.capsule(self.id, self.centre, self.centre, self.radius)


@dataclass(frozen=True)
class Capsule:
    """All points within `radius` of the segment from `p0` to `p1`, in m."""

    id: str
    p0: Vec3
    p1: Vec3
    radius: float

    def primitive(self) -> _core.Primitive:
        """Converts to the kernel's type."""
        return _core.Primitive.capsule(self.id, self.p0, self.p1, self.radius)


@dataclass(frozen=True)
class Box:
    """A box with half extents along its own axes, in m."""

    id: str
    centre: Vec3
    half: Vec3
    quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    """Orientation, x y z w."""

    def primitive(self) -> _core.Primitive:
        """Converts to the kernel's type."""
        length = float(np.linalg.norm(self.quaternion))
        if not 0.5 < length < 2:
            raise ConfigError(f"obstacle '{self.id}': {self.quaternion} is not an orientation")
        rotation = Rotation.from_quat(self.quaternion).as_matrix().ravel().tolist()
        return _core.Primitive.box(self.id, self.centre, self.half, rotation)


Obstacle = Sphere | Capsule | Box


def obstacle(primitive: Any) -> Obstacle:
    """Converts a CollisionPrimitive that is not attached to the robot."""
    at, turn = primitive.pose.position, primitive.pose.orientation
    centre = (at.x, at.y, at.z)
    quaternion = (turn.x, turn.y, turn.z, turn.w)
    size = [float(v) for v in primitive.size]
    if primitive.shape == PrimitiveShape.SPHERE:
        return Sphere(primitive.id, centre, size[0])
    if primitive.shape == PrimitiveShape.BOX:
        return Box(primitive.id, centre, (size[0] / 2, size[1] / 2, size[2] / 2), quaternion)
    if primitive.shape == PrimitiveShape.CAPSULE:
        if not 0.5 < float(np.linalg.norm(quaternion)) < 2:
            raise ConfigError(f"object '{primitive.id}': {quaternion} is not an orientation")
        half = Rotation.from_quat(quaternion).apply([0.0, 0.0, size[1] / 2])
        low, high = np.array(centre) - half, np.array(centre) + half
        return Capsule(primitive.id, _vec(low), _vec(high), size[0])
    raise ConfigError(f"object '{primitive.id}' has shape {primitive.shape}; valid: 0 to 2")


def _vec(values: NDArray[np.float64]) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])


def moved(thing: Obstacle, pose: tuple[float, float, float], shift: float, turn: float) -> Obstacle:
    """Transforms an obstacle from a frame at `pose` (x, y in m, yaw in rad) to its parent frame.

    The obstacle grows to cover wherever it may be if that pose is off by `shift` m and `turn` rad.
    """
    x, y, yaw = pose
    c, s = math.cos(yaw), math.sin(yaw)

    def at(p: Vec3) -> Vec3:
        return x + c * p[0] - s * p[1], y + s * p[0] + c * p[1], p[2]

    if isinstance(thing, Box):
        grown = shift + turn * (math.hypot(*thing.centre) + math.hypot(*thing.half))
        half = (thing.half[0] + grown, thing.half[1] + grown, thing.half[2] + grown)
        a, b, (i, j, k, w) = math.cos(yaw / 2), math.sin(yaw / 2), thing.quaternion
        turned = (a * i - b * j, a * j + b * i, a * k + b * w, a * w - b * k)
        return Box(thing.id, at(thing.centre), half, turned)
    if isinstance(thing, Capsule):
        far = max(math.hypot(*thing.p0), math.hypot(*thing.p1)) + thing.radius
        grown = thing.radius + shift + turn * far
        return Capsule(thing.id, at(thing.p0), at(thing.p1), grown)
    grown = thing.radius + shift + turn * (math.hypot(*thing.centre) + thing.radius)
    return Sphere(thing.id, at(thing.centre), grown)


@dataclass(frozen=True)
class VoxelGrid:
    """Occupied cells: cell (i, j, k) spans resolution·(i..i+1, j..j+1, k..k+1) from the origin."""

    cells: NDArray[np.bool_] | NDArray[np.uint8] = field(repr=False)
    """Shape (nx, ny, nz), non-zero where occupied."""
    origin: Vec3
    """Lowest corner of cell (0, 0, 0), in m."""
    resolution: float
    """Edge length of a cell, in m."""
    fixed: bool = False
    """Whether it is fixed in the odometry frame; otherwise it is in the base frame as of its
    stamp."""

    def bytes(self) -> NDArray[np.uint8]:
        """The cells as the kernel reads them: one byte each, without a copy where possible."""
        cells = np.ascontiguousarray(self.cells)
        if cells.ndim != 3 or cells.dtype not in (np.bool_, np.uint8):
            raise ConfigError(
                f"a voxel grid is a 3-d array of bool or uint8, not {cells.ndim}-d of {cells.dtype}"
            )
        return cells.view(np.uint8)
