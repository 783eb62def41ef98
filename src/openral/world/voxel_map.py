"""VoxelMap: an occupancy map of the robot's surroundings from depth sensors, computed in C++."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openral import _core
from openral.errors import ConfigError
from openral.graph.obstacles import VoxelGrid

Matrix = NDArray[np.float64]
Shapes = NDArray[np.float64]
"""Capsules (n, 7): two ends and a radius, in m."""
NO_SHAPES: Shapes = np.zeros((0, 7))
_BLOCK = 8


@dataclass(frozen=True)
class MapOptions:
    """Layout of a map, and how fast the state of its cells changes."""

    resolution_m: float = 0.025
    """Edge length of a cell."""
    size_m: tuple[float, float, float] = (4.0, 4.0, 2.0)
    """Size of the window around the robot; rounded up to whole blocks of cells."""
    low_m: float = -0.2
    """Lower end of the window, above the base. Lower things, such as the floor, are ignored."""
    padding_m: float = 0.05
    """Padding of the robot's body: measurements within it are attributed to the body itself."""
    hit: int = 3
    """Weight of a view in which a cell is hit."""
    miss: int = 1
    """Weight of a view that sees through a cell."""
    low: int = -4
    """Lower bound of a cell's evidence: two views bring an obstacle back."""
    high: int = 9
    """Upper bound of a cell's evidence: ten views clear one that was seen for long."""
    share: float = 0.04
    """Fraction of a cell's cross-section that must be hit in a depth image; less is noise."""


@dataclass(frozen=True)
class Lens:
    """A pinhole camera, in pixels."""

    fx: float
    fy: float
    cx: float
    cy: float


class VoxelMap:
    """A window of cells on a fixed lattice; it moves with the robot by whole cells."""

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
        # The lowest layer is fixed, so that the floor never enters the window.
        self._middle = o.low_m + self.dims[2] * o.resolution_m / 2

    @property
    def origin(self) -> tuple[float, float, float]:
        """Lowest corner of cell (0, 0, 0) in the lattice's frame, in m."""
        x, y, z = self._core.origin
        return x, y, z

    @property
    def memory(self) -> int:
        """Memory in use, in bytes."""
        return self._core.memory

    def follow(self, x: float, y: float, z: float = 0.0) -> None:
        """Moves the window to a base at this position in m; cells that leave it are forgotten."""
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
        """Inserts a depth image (height, width) in m; `camera` is its optical frame's pose, 4×4.

        Poses and shapes are in the lattice's frame. +inf means nothing within range; NaN and zero
        mean not measured. Nothing within the padding of `body` and attached objects (`held`)
        becomes an obstacle, and obstacles inside the body are cleared.
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
        """Inserts points (n, 3) in m in the frame of a sensor whose pose is `sensor`, 4×4."""
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
        """Suppresses occupancy in `shapes`, padded by one cell, until observed again."""
        self._core.hide(np.ascontiguousarray(shapes), self.options.resolution_m)

    def show(self) -> None:
        """Ends all suppression of `hide`: all observed occupancy is reported again."""
        self._core.show()

    def assume_free(self, shapes: Shapes) -> None:
        """Marks unknown cells around the robot as free, at its pose when the map begins."""
        self._core.assume_free(np.ascontiguousarray(shapes), 2 * self.options.padding_m)

    def decay(self, body: Shapes) -> None:
        """Fades all evidence by one step, except that free cells around the robot stay free."""
        self._core.decay(np.ascontiguousarray(body), 2 * self.options.padding_m)

    def forget(self) -> None:
        """Makes all cells unknown."""
        self._core.reset()

    def occupied_bits(self) -> NDArray[np.uint8]:
        """Occupied cells, one bit per cell, x fastest, as in OccupancyVoxels."""
        return self._core.occupied()

    def unknown_bits(self) -> NDArray[np.uint8]:
        """Cells never observed, in the same layout."""
        return self._core.unknown()

    def grid(self) -> VoxelGrid:
        """The occupied cells in the kernel's format."""
        return VoxelGrid(
            self.unpacked(self.occupied_bits()), self.origin, self.options.resolution_m
        )

    def unpacked(self, bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Bits as an array of shape (nx, ny, nz)."""
        nx, ny, nz = self.dims
        flat = np.unpackbits(bits, count=nx * ny * nz, bitorder="little")
        return np.ascontiguousarray(flat.reshape(nz, ny, nx).transpose(2, 1, 0))

    def centres(self, bits: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Centres (n, 3) in m of the cells whose bits are set."""
        nx, ny, nz = self.dims
        set_ = np.flatnonzero(np.unpackbits(bits, count=nx * ny * nz, bitorder="little"))
        out = np.empty((len(set_), 3), np.float32)
        for axis, at in enumerate(np.unravel_index(set_, (nz, ny, nx))[::-1]):
            out[:, axis] = (at + 0.5) * self.options.resolution_m + self.origin[axis]
        return out
