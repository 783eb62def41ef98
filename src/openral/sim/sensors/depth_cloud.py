"""Converts depth images to organised point clouds."""

from __future__ import annotations

import math

import numpy as np

from openral.manifest import RobotDescription
from openral.manifest.sensor import DepthCamera, Intrinsics
from openral.sim.rollout import Depth


def unproject(depth: Depth, lens: Intrinsics) -> Depth:
    """Points (height, width, 3) in m in the optical frame (z forward, x right, y down).

    `depth` is (height, width) in m along the optical axis.
    """
    height, width = depth.shape
    x = (np.arange(width, dtype=np.float32) - np.float32(lens.cx)) / np.float32(lens.fx)
    y = (np.arange(height, dtype=np.float32) - np.float32(lens.cy)) / np.float32(lens.fy)
    points = np.empty((height, width, 3), np.float32)
    np.multiply(x[None, :], depth, out=points[..., 0])
    np.multiply(y[:, None], depth, out=points[..., 1])
    points[..., 2] = depth
    return points


def camera_range(robot: RobotDescription, camera: str) -> tuple[float, float]:
    """Nearest and farthest distance in m of a depth camera; unlimited for any other camera."""
    for sensor in robot.cameras:
        if sensor.name == camera and isinstance(sensor, DepthCamera):
            return sensor.range_m
    return 0.0, math.inf
