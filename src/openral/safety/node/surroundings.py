"""What the graph says is around the robot, as the kernel takes it.

Views are in the base frame as it was at their stamp, or in the frame of the base's odometry.
What cannot be used (another frame, an object on a link that does not exist, a map that its maker
calls unhealthy or that the robot is not in) makes the whole view unusable, so that motion is
dropped instead of judged by an older view.
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
"""Cells of the largest map that the kernel takes."""
_SPHERE, _BOX, _CAPSULE = 0, 1, 2
_BITS, _CELLS = 0, 1
_NAN3 = (float("nan"),) * 3


def stamp_ns(message: Any) -> int:
    """When the message's content was measured."""
    return int(message.header.stamp.sec) * NS + int(message.header.stamp.nanosec)


def tell_voxels(
    kernel: Kernel,
    message: Any,
    unknown_blocks: bool,
    cover: Callable[[VoxelGrid, int], None],
    odom_frame: str = "",
) -> VoxelGrid:
    """Gives an OccupancyVoxels to the kernel; raises ConfigError after making it unusable.

    `cover` is given the map and its stamp, and raises ConfigError if the robot is not in it.
    """
    stamp = stamp_ns(message)
    try:
        fixed = stands_still(kernel, message, odom_frame)
        if not message.healthy:
            raise ConfigError(_ill(message))
        grid = replace(voxel_grid(message, unknown_blocks), fixed=fixed)
        if grid.cells.size <= MAX_CELLS:  # of more the kernel says that it is too much
            cover(grid, stamp)
    except ConfigError:
        spoil_voxels(kernel, stamp)
        raise
    kernel.set_voxels(grid, stamp)
    return grid


def obstacle(primitive: Any) -> Obstacle:
    """A CollisionPrimitive that stands in the world."""
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

    `unknown_blocks`: with those that nobody has seen, and with the outermost at its sides and top,
    because nobody has seen what is behind them. A robot stands on what is below.
    """
    dims = [int(n) for n in message.dims]
    count = dims[0] * dims[1] * dims[2]
    origin = (message.origin.x, message.origin.y, message.origin.z)
    if count > MAX_CELLS:  # more than the kernel takes: it says so itself
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
    """Whether a view is in the frame of the odometry, and not in the base's own.

    A view that does not say what it is seen from is refused like one in an unknown frame.
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
    """Makes the map unusable until another one comes."""
    try:
        kernel.set_voxels(VoxelGrid(np.zeros((1, 1, 1), np.uint8), _NAN3, float("nan")), stamp)
    except ConfigError:
        return


def _vec(values: NDArray[np.float64]) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])
