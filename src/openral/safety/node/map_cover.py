"""Checks that a voxel map covers the robot's position."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from openral.errors import ConfigError
from openral.graph.obstacles import VoxelGrid
from openral.manifest.kinematics import Kinematics
from openral.manifest.robot import RobotDescription
from openral.safety.kernel import Kernel


class MapCover:
    """Checks maps against the links that the robot's base carries."""

    def __init__(self, robot: RobotDescription) -> None:
        self._kinematics = Kinematics(robot)
        links = self._kinematics.links
        carried = {robot.base_frame}
        while more := {j.child for j in robot.joints if j.parent in carried} - carried:
            carried |= more
        self._base = links.index(robot.base_frame)
        self._carried = [i for i, name in enumerate(links) if name in carried]

    def require(
        self, kernel: Kernel, grid: VoxelGrid, stamp_ns: int, q: NDArray[np.float64]
    ) -> None:
        """Raises ConfigError for a map that contains the origin of no link.

        `q`: joint positions, shape (dof,). A map in the odometry frame is checked with the base's
        pose at the map's stamp.
        """
        if not np.isfinite(q).all():
            raise ConfigError("it is not known yet where the joints are: no map can be held to it")
        poses = self._kinematics.poses(q)
        origins = (np.linalg.inv(poses[self._base]) @ poses[self._carried])[:, :3, 3]
        if grid.fixed and (place := kernel.base_at(stamp_ns)) is not None:
            c, s = math.cos(place.yaw), math.sin(place.yaw)
            turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            origins = origins @ turn.T + [place.x, place.y, 0.0]
        low = np.array(grid.origin)
        high = low + grid.resolution * np.array(grid.cells.shape)
        if not ((origins >= low) & (origins <= high)).all(axis=1).any():
            x, y, z = origins[0]
            raise ConfigError(
                f"the voxel map spans {_text(low)} to {_text(high)} m and holds no link of the "
                f"robot, whose base is at {_text(np.array([x, y, z]))}: it says nothing about it"
            )


def _text(point: NDArray[np.float64]) -> str:
    return "(" + ", ".join(f"{v:.2f}" for v in point) + ")"
