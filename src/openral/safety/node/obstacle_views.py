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

from openral.errors import ConfigError, choices
from openral.graph.obstacles import VoxelGrid
from openral.graph.states import SensorState
from openral.graph.voxel_message import MAX_CELLS, voxel_grid
from openral.manifest.robot import RobotDescription
from openral.ros.stamps import stamp_ns
from openral.safety.kernel import Kernel

_NAN3 = (float("nan"),) * 3


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
        fixed = stands_still(kernel.robot, message, odom_frame)
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


def _ill(message: Any) -> str:
    faults = [f"'{s.name}': {s.detail}" for s in message.sensors if s.state != SensorState.OK]
    return "the voxel map's maker calls it unhealthy" + "".join(f"; {fault}" for fault in faults)


def spoil_voxels(kernel: Kernel, stamp: int) -> None:
    """Makes the kernel's map unusable until another one is received."""
    try:
        kernel.set_voxels(VoxelGrid(np.zeros((1, 1, 1), np.uint8), _NAN3, float("nan")), stamp)
    except ConfigError:
        return


def stands_still(robot: RobotDescription, message: Any, odom_frame: str) -> bool:
    """Whether a message is in the odometry frame; False: in the base frame.

    A message without a frame is refused like one in an unknown frame.
    """
    frame, wanted = message.header.frame_id, robot.base_frame
    if frame == wanted:
        return False
    valid = [wanted, odom_frame] if odom_frame and robot.base_joints else [wanted]
    if frame not in valid:
        raise ConfigError(f"a view of the world in frame '{frame}'; {choices(frame, valid)}")
    return True
