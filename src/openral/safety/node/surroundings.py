"""Converts obstacle and voxel messages to the kernel's inputs.

Messages are in the base frame as of their stamp, or in the odometry frame. Content that cannot be
used (another frame, an object on a link that does not exist, a map that its publisher marks as
unhealthy or that does not cover the robot) makes the whole message unusable, so that motion is
dropped instead of judged by an older one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.errors import ConfigError, choices
from openral.graph.obstacles import Box, Capsule, Obstacle, Sphere, VoxelGrid
from openral.ros.clock import NS
from openral.safety.kernel import Kernel

MAX_CELLS = 1 << 22
"""Number of cells of the largest map that the kernel accepts."""
_SPHERE, _BOX, _CAPSULE = 0, 1, 2
_BITS, _CELLS = 0, 1
_NAN3 = (float("nan"),) * 3


def stamp_ns(message: Any) -> int:
    """A message's stamp in ns."""
    return int(message.header.stamp.sec) * NS + int(message.header.stamp.nanosec)


def tell_voxels(
    kernel: Kernel,
    message: Any,
    unknown_blocks: bool,
    cover: Callable[[VoxelGrid, int], None],
    odom_frame: str = "",
) -> VoxelGrid:
    """Passes an OccupancyVoxels to the kernel; ConfigError after making its map unusable.

    `cover` is called with the map and its stamp, and raises ConfigError if the robot is not in it.
    """
    stamp = stamp_ns(message)
    try:
        fixed = stands_still(kernel, message, odom_frame)
        if not message.healthy:
            raise ConfigError(_ill(message))
        grid = replace(voxel_grid(message, unknown_blocks), fixed=fixed)
        if grid.cells.size <= MAX_CELLS:  # a larger one is refused by the kernel
            cover(grid, stamp)
    except ConfigError:
        spoil_voxels(kernel, stamp)
        raise
    kernel.set_voxels(grid, stamp)
    return grid


def obstacle(primitive: Any) -> Obstacle:
    """Converts a CollisionPrimitive that is not attached to the robot."""
    at, turn = primitive.pose.position, primitive.pose.orientation
    centre = (at.x, at.y, at.z)
    quaternion = (turn.x, turn.y, turn.z, turn.w)
    size = [float(v) for v in primitive.size]
    if primitive.shape == _SPHERE:
        return Sphere(primitive.id, centre, size[0])
    if primitive.shape == _BOX:
        return Box(primitive.id, centre, (size[0] / 2, size[1] / 2, size[2] / 2), quaternion)
    if primitive.shape == _CAPSULE:
        if not 0.5 < float(np.linalg.norm(quaternion)) < 2:
            raise ConfigError(f"object '{primitive.id}': {quaternion} is not an orientation")
        half = Rotation.from_quat(quaternion).apply([0.0, 0.0, size[1] / 2])
        low, high = np.array(centre) - half, np.array(centre) + half
        return Capsule(primitive.id, _vec(low), _vec(high), size[0])
    raise ConfigError(f"object '{primitive.id}' has shape {primitive.shape}; valid: 0 to 2")


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
    if message.encoding == _BITS:
        flat = _unpacked(message.bits, count, "bits")
    elif message.encoding == _CELLS:
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


def stands_still(kernel: Kernel, message: Any, odom_frame: str) -> bool:
    """Whether a message is in the odometry frame; False: in the base frame.

    A message without a frame is refused like one in an unknown frame.
    """
    frame, wanted = message.header.frame_id, kernel.robot.base_frame
    if frame == wanted:
        return False
    valid = [wanted, odom_frame] if odom_frame and kernel.robot.base_joints else [wanted]
    if frame not in valid:
        raise ConfigError(f"a view of the world in frame '{frame}'; {choices(frame, valid)}")
    return True


def _ill(message: Any) -> str:
    faults = [f"'{s.name}': {s.detail}" for s in message.sensors if s.state != 0]
    return "the voxel map's maker calls it unhealthy" + "".join(f"; {fault}" for fault in faults)


def spoil_voxels(kernel: Kernel, stamp: int) -> None:
    """Makes the kernel's map unusable until another one is received."""
    try:
        kernel.set_voxels(VoxelGrid(np.zeros((1, 1, 1), np.uint8), _NAN3, float("nan")), stamp)
    except ConfigError:
        return


def _vec(values: NDArray[np.float64]) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])
