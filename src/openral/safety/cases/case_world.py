"""The world of a written-down stop: obstacles, voxels, and what the robot holds."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from openral.graph.held import Held
from openral.graph.obstacles import Box, Capsule, Obstacle, Sphere, VoxelGrid
from openral.manifest.base import CrossCheckError, Location, Model, NonNegative, Positive, Vec3

_MAX_CELLS = 16_000_000


class SphereCase(Model):
    """A ball."""

    shape: Literal["sphere"]
    """What it is."""
    id: str
    """The name that a verdict calls it by."""
    centre: Vec3
    """In the base frame, in m."""
    radius: NonNegative
    """In m."""

    def obstacle(self) -> Obstacle:
        """The kernel's form of it."""
        return Sphere(self.id, self.centre, self.radius)


class CapsuleCase(Model):
    """All points within `radius` of a segment."""

    shape: Literal["capsule"]
    """What it is."""
    id: str
    """The name that a verdict calls it by."""
    p0: Vec3
    """One end of the segment, in the base frame, in m."""
    p1: Vec3
    """The other end."""
    radius: NonNegative
    """In m."""

    def obstacle(self) -> Obstacle:
        """The kernel's form of it."""
        return Capsule(self.id, self.p0, self.p1, self.radius)


class BoxCase(Model):
    """A box."""

    shape: Literal["box"]
    """What it is."""
    id: str
    """The name that a verdict calls it by."""
    centre: Vec3
    """In the base frame, in m."""
    half: tuple[NonNegative, NonNegative, NonNegative]
    """Half sizes along its own axes, in m."""
    quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    """Orientation, x y z w."""

    def obstacle(self) -> Obstacle:
        """The kernel's form of it."""
        return Box(self.id, self.centre, self.half, self.quaternion)


ObstacleCase = Annotated[SphereCase | CapsuleCase | BoxCase, Field(discriminator="shape")]
Count = Annotated[int, Field(ge=1)]


class VoxelCase(Model):
    """Occupied cells of a grid."""

    origin: Vec3
    """Lowest corner of cell (0, 0, 0), in m."""
    resolution: Positive
    """Side of a cell, in m."""
    shape: tuple[Count, Count, Count]
    """Cells along x, y and z."""
    occupied: tuple[tuple[int, int, int], ...]
    """Indices of the cells where something is."""
    fixed: bool = False
    """Whether the grid stands in the frame of the base's odometry, and not in the base's own."""

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
        """The kernel's form of it."""
        cells = np.zeros(self.shape, np.bool_)
        if self.occupied:
            cells[tuple(np.array(self.occupied).T)] = True
        return VoxelGrid(cells, self.origin, self.resolution, self.fixed)


class HeldCase(Model):
    """An object that moves with a link: a capsule in the link's frame."""

    id: str
    """The name that a verdict calls it by."""
    link: str
    """The link that carries it."""
    p0: Vec3
    """One end of the segment, in m."""
    p1: Vec3
    """The other end."""
    radius: NonNegative
    """In m."""
    touches: tuple[str, ...] = ()
    """Links that may touch it."""

    def held(self) -> Held:
        """The kernel's form of it."""
        return Held(self.id, self.link, self.p0, self.p1, self.radius, self.touches)
