"""OccupancyVoxels: a voxel map as a message, written and read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.errors import ConfigError
from openral.graph.obstacles import Vec3, VoxelGrid
from openral.graph.states import VoxelEncoding
from openral.ros import msg

MAX_CELLS = 1 << 22
"""Number of cells of the largest map that the kernel accepts."""


def occupancy_voxels(
    header: msg.Header,
    origin: Vec3,
    resolution_m: float,
    dims: Sequence[int],
    occupied: NDArray[np.uint8],
    unknown: NDArray[np.uint8],
    sensors: list[msg.SensorHealth],
    healthy: bool,
) -> msg.OccupancyVoxels:
    """A map of nx × ny × nz cells; `occupied` and `unknown` hold one bit a cell, x fastest."""
    return msg.OccupancyVoxels(
        header=header,
        resolution=resolution_m,
        origin=msg.Point(*origin),
        dims=np.array(dims, np.uint32),
        encoding=int(VoxelEncoding.BITS),
        bits=occupied,
        unknown=unknown,
        healthy=healthy,
        sensors=sensors,
    )


def voxel_grid(message: Any, unknown_blocks: bool) -> VoxelGrid:
    """The occupied cells of an OccupancyVoxels.

    `unknown_blocks`: also the unobserved cells, and the outermost ones at the sides and the top,
    because what is behind them is unobserved. Not those at the bottom: the robot stands there.
    """
    dims = [int(n) for n in message.dims]
    count = dims[0] * dims[1] * dims[2]
    origin = (message.origin.x, message.origin.y, message.origin.z)
    if count > MAX_CELLS:  # too large: the kernel refuses it with its own error
        return VoxelGrid(np.zeros((1, 1, MAX_CELLS + 1), np.uint8), origin, message.resolution)
    if message.encoding == VoxelEncoding.BITS:
        flat = _unpacked(message.bits, count, "bits")
    elif message.encoding == VoxelEncoding.CELLS:
        flat = np.zeros(count, np.uint8)
        cells = np.asarray(message.cells)
        if cells.size and int(cells.max()) >= count:
            raise ConfigError(f"voxel {int(cells.max())} is outside a map of {count} cells")
        flat[cells] = 1
    else:
        raise ConfigError(f"a voxel map in encoding {message.encoding}; valid: 0 (bits), 1 (cells)")
    if unknown_blocks:
        if not len(message.unknown):
            raise ConfigError("unknown_blocks is set and the voxel map does not tell what it is")
        flat = flat | _unpacked(message.unknown, count, "unknown")
    cells_xyz = np.ascontiguousarray(flat.reshape(dims[::-1]).transpose(2, 1, 0))
    if unknown_blocks and count:
        cells_xyz[[0, -1]] = cells_xyz[:, [0, -1]] = cells_xyz[:, :, -1] = 1
    return VoxelGrid(cells_xyz, origin, message.resolution)


def _unpacked(packed: Any, count: int, field: str) -> NDArray[np.uint8]:
    if len(packed) != (count + 7) // 8:
        raise ConfigError(f"{field} of a map of {count} cells has {len(packed)} bytes")
    return np.unpackbits(np.asarray(packed, np.uint8), count=count, bitorder="little")
