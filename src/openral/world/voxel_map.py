"""VoxelMap: what depth sensors have seen around the robot; the work is done in C++."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openral import _core
from openral.errors import ConfigError
from openral.graph.obstacles import VoxelGrid

Matrix = NDArray[np.float64]
Shapes = NDArray[np.float64]
"""Capsules, one a row: two ends and a radius."""
NO_SHAPES: Shapes = np.zeros((0, 7))
_BLOCK = 8


@dataclass(frozen=True)
class MapOptions:
    """How a map is laid out and how fast it changes its mind."""

    resolution_m: float = 0.025
    """Edge of a cell."""
    size_m: tuple[float, float, float] = (4.0, 4.0, 2.0)
    """The window around the robot; rounded up to whole blocks of cells."""
    low_m: float = -0.2
    """Where the window begins, above the base. Lower things, such as the floor, are left out."""
    padding_m: float = 0.05
    """Around the robot's body: what is measured there is taken for the body itself."""
    hit: int = 3
    """Weight of a view in which a cell is hit."""
    miss: int = 1
    """Weight of a view that looks through a cell."""
    low: int = -4
    """No cell is freer than this: two views bring an obstacle back."""
    high: int = 9
    """No cell is more occupied than this: ten views clear one that was seen for long."""
    share: float = 0.04
    """Part of a cell's cross-section that must be hit in a depth picture; less is noise."""


@dataclass(frozen=True)
class Lens:
    """A pinhole camera, in pixels."""

    fx: float
    fy: float
    cx: float
    cy: float


class VoxelMap:
    """A window of cells on a lattice that stands still; it rolls along by whole cells."""

    def __init__(self, options: MapOptions | None = None) -> None:
        self.options = options or MapOptions()
        o = self.options
        block = _BLOCK * o.resolution_m
        self.dims = tuple(_BLOCK * max(1, int(np.ceil(s / block - 1e-9))) for s in o.size_m)
        try:
            self._core = _core.Mapper(
                resolution=o.resolution_m,
                dims=self.dims,
                hit=o.hit,
                miss=o.miss,
                low=o.low,
                high=o.high,
                share=o.share,
                padding=o.padding_m,
            )
        except ValueError as error:
            raise ConfigError(f"voxel map: {error}") from error
        # The lowest layer is fixed, so that the floor never rolls in.
        self._middle = o.low_m + self.dims[2] * o.resolution_m / 2

    @property
    def origin(self) -> tuple[float, float, float]:
        """Lowest corner of cell (0, 0, 0)."""
        x, y, z = self._core.origin
        return x, y, z

    @property
    def memory(self) -> int:
        """Bytes that it holds."""
        return self._core.memory

    def follow(self, x: float, y: float, z: float = 0.0) -> None:
        """Rolls the window to a base that is there; what leaves it is forgotten."""
        try:
            self._core.recentre((x, y, z + self._middle))
        except ValueError as error:
            raise ConfigError(f"voxel map: {error}") from error

    def see_depth(
        self,
        depth: NDArray[np.float32],
        lens: Lens,
        camera: Matrix,
        range_m: tuple[float, float],
        body: Shapes = NO_SHAPES,
        held: Shapes = NO_SHAPES,
    ) -> _core.ViewReport:
        """Takes a depth picture; `camera` is its optical frame in the lattice, 4×4.

        +inf means nothing within range; NaN and zero mean not measured. Nothing within the padding
        of `body` and `held` becomes an obstacle, and where the body is, none is any more.
        """
        try:
            return self._core.insert_depth(
                depth=np.ascontiguousarray(depth, np.float32),
                lens=(lens.fx, lens.fy, lens.cx, lens.cy),
                camera=np.asarray(camera, float).ravel().tolist(),
                nearest=range_m[0],
                farthest=range_m[1],
                body=np.ascontiguousarray(body, np.float64),
                held=np.ascontiguousarray(held, np.float64),
            )
        except ValueError as error:
            raise ConfigError(f"depth picture: {error}") from error

    def see_points(
        self,
        points: NDArray[np.float32],
        sensor: Matrix,
        range_m: tuple[float, float],
        body: Shapes = NO_SHAPES,
        held: Shapes = NO_SHAPES,
    ) -> _core.ViewReport:
        """Takes a cloud of points in the frame of a sensor that is at `sensor` in the lattice."""
        try:
            return self._core.insert_points(
                points=np.ascontiguousarray(points, np.float32).reshape(-1, 3),
                sensor=np.asarray(sensor, float).ravel().tolist(),
                nearest=range_m[0],
                farthest=range_m[1],
                body=np.ascontiguousarray(body, np.float64),
                held=np.ascontiguousarray(held, np.float64),
            )
        except ValueError as error:
            raise ConfigError(f"cloud: {error}") from error

    def hide(self, shapes: Shapes) -> None:
        """What stood there was taken away: it is not told, nor what is a cell's width around it,
        until something is seen there again."""
        self._core.hide(np.ascontiguousarray(shapes), self.options.resolution_m)

    def show(self) -> None:
        """Nothing is hidden any more: all that was seen is told."""
        self._core.show()

    def assume_free(self, shapes: Shapes) -> None:
        """What is unknown around the robot, where it stands when the map begins, is free."""
        self._core.assume_free(np.ascontiguousarray(shapes), 2 * self.options.padding_m)

    def decay(self, body: Shapes) -> None:
        """All that is known fades by one step, but what is free around the robot stays free."""
        self._core.decay(np.ascontiguousarray(body), 2 * self.options.padding_m)

    def forget(self) -> None:
        """Everything is unknown again."""
        self._core.reset()

    def occupied_bits(self) -> NDArray[np.uint8]:
        """One bit a cell, x fastest, as OccupancyVoxels has them."""
        return self._core.occupied()

    def unknown_bits(self) -> NDArray[np.uint8]:
        """The same for cells that nobody has seen."""
        return self._core.unknown()

    def grid(self) -> VoxelGrid:
        """The occupied cells as the kernel takes them."""
        return VoxelGrid(
            self.unpacked(self.occupied_bits()), self.origin, self.options.resolution_m
        )

    def unpacked(self, bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Bits as an array by x, y and z."""
        nx, ny, nz = self.dims
        flat = np.unpackbits(bits, count=nx * ny * nz, bitorder="little")
        return np.ascontiguousarray(flat.reshape(nz, ny, nx).transpose(2, 1, 0))

    def centres(self, bits: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Middles of the cells whose bits are set, one a row."""
        nx, ny, nz = self.dims
        set_ = np.flatnonzero(np.unpackbits(bits, count=nx * ny * nz, bitorder="little"))
        out = np.empty((len(set_), 3), np.float32)
        for axis, at in enumerate(np.unravel_index(set_, (nz, ny, nx))[::-1]):
            out[:, axis] = (at + 0.5) * self.options.resolution_m + self.origin[axis]
        return out
