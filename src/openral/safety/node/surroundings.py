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
    """Gives an OccupancyVoxels to the kernel; raises ConfigError after making it unusable.

    `cover` is given the map and its stamp, and raises ConfigError if the robot is not in it.
    """
    stamp = stamp_ns(message)
    try:
        fixed = stands_still(kernel.robot, message, odom_frame)
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


def _ill(message: Any) -> str:
    faults = [f"'{s.name}': {s.detail}" for s in message.sensors if s.state != SensorState.OK]
    return "the voxel map's maker calls it unhealthy" + "".join(f"; {fault}" for fault in faults)


def spoil_voxels(kernel: Kernel, stamp: int) -> None:
    """Makes the map unusable until another one comes."""
    try:
        kernel.set_voxels(VoxelGrid(np.zeros((1, 1, 1), np.uint8), _NAN3, float("nan")), stamp)
    except ConfigError:
        return


def stands_still(robot: RobotDescription, message: Any, odom_frame: str) -> bool:
    """Whether a view is in the frame of the odometry, and not in the base's own.

    A view that does not say what it is seen from is refused like one in an unknown frame.
    """
    frame, wanted = message.header.frame_id, robot.base_frame
    if frame == wanted:
        return False
    valid = [wanted, odom_frame] if odom_frame and robot.base_joints else [wanted]
    if frame not in valid:
        raise ConfigError(f"a view of the world in frame '{frame}'; {choices(frame, valid)}")
    return True
