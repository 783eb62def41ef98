"""The world of a recorded stop: obstacles, voxels and attached objects."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from openral.graph.attached_object import AttachedObject
from openral.graph.obstacles import Box, Capsule, Obstacle, Sphere, VoxelGrid
from openral.manifest.base import CrossCheckError, Location, Model, NonNegative, Positive, Vec3

_MAX_CELLS = 16_000_000


class SphereCase(Model):
    """A sphere."""

    shape: Literal["sphere"]
    """Kind of shape."""
    id: str
    """Name used in verdicts."""
    centre: Vec3
    """In the base frame, in m."""
    radius: NonNegative
    """In m."""

    def obstacle(self) -> Obstacle:
        """Converts to the kernel's input type."""
        return Sphere(self.id, self.centre, self.radius)


class CapsuleCase(Model):
    """All points within `radius` of the segment from `p0` to `p1`."""

    shape: Literal["capsule"]
    """Kind of shape."""
    id: str
    """Name used in verdicts."""
    p0: Vec3
    """One end of the segment, in the base frame, in m."""
    p1: Vec3
    """The other end."""
    radius: NonNegative
    """In m."""

    def obstacle(self) -> Obstacle:
        """Converts to the kernel's input type."""
        return Capsule(self.id, self.p0, self.p1, self.radius)


class BoxCase(Model):
    """A box."""

    shape: Literal["box"]
    """Kind of shape."""
    id: str
    """Name used in verdicts."""
    centre: Vec3
    """In the base frame, in m."""
    half: tuple[NonNegative, NonNegative, NonNegative]
    """Half extents along its own axes, in m."""
    quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    """Orientation, x y z w."""

    def obstacle(self) -> Obstacle:
        """Converts to the kernel's input type."""
        return Box(self.id, self.centre, self.half, self.quaternion)


ObstacleCase = Annotated[SphereCase | CapsuleCase | BoxCase, Field(discriminator="shape")]
Count = Annotated[int, Field(ge=1)]


class VoxelCase(Model):
    """Occupied cells of a grid."""

    origin: Vec3
    """Lowest corner of cell (0, 0, 0), in m."""
    resolution: Positive
    """Edge length of a cell, in m."""
    shape: tuple[Count, Count, Count]
    """Number of cells along x, y and z."""
    occupied: tuple[tuple[int, int, int], ...]
    """Indices of the occupied cells."""
    fixed: bool = False
    """Whether the grid is in the odometry frame instead of the base frame."""

    @model_validator(mode="after")
    def _inside(self) -> Self:
        problems: list[tuple[Location, str]] = []
        if int(np.prod(self.shape)) > _MAX_CELLS:
            problems.append((("shape",), f"{self.shape} has more than {_MAX_CELLS} cells"))
        for i, cell in enumerate(self.occupied):
            if not all(0 <= c < n for c, n in zip(cell, self.shape, strict=True)):
                text = f"cell {cell} is outside a grid of {self.shape} cells"
                problems.append((("occupied", i), text))
        if problems:
            raise CrossCheckError(problems)
        return self

    def grid(self) -> VoxelGrid:
        """Converts to the kernel's input type."""
        cells = np.zeros(self.shape, np.bool_)
        if self.occupied:
            cells[tuple(np.array(self.occupied).T)] = True
        return VoxelGrid(cells, self.origin, self.resolution, self.fixed)


class HeldCase(Model):
    """An attached object: a capsule in the frame of the link that it moves with."""

    id: str
    """Name used in verdicts."""
    link: str
    """The link that it is attached to."""
    p0: Vec3
    """One end of the segment, in m."""
    p1: Vec3
    """The other end."""
    radius: NonNegative
    """In m."""
    touches: tuple[str, ...] = ()
    """Links that may touch it."""

    def held(self) -> AttachedObject:
        """Converts to the kernel's input type."""
        return AttachedObject(self.id, self.link, self.p0, self.p1, self.radius, self.touches)
