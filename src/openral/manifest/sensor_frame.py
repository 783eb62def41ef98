"""The pose of a sensor's measurement frame, from the manifest alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openral.manifest.kinematics import matrix
from openral.manifest.robot import RobotDescription
from openral.manifest.sensor import Lidar, Sensor

Matrix = NDArray[np.float64]

# From x forward, z up to z forward, x right (REP 103).
_OPTICAL = np.array([[0.0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 1]])


def sensor_frame(robot: RobotDescription, sensor: Sensor) -> tuple[str, Matrix]:
    """The link that carries the frame of the sensor's messages, and the frame's pose in it, 4×4.

    Cameras measure in their optical frame. A frame named like a link of the robot is that link's.
    """
    if any(link.name == sensor.frame_id for link in robot.links):
        return sensor.frame_id, np.eye(4)
    pose = matrix(sensor.mount.xyz, sensor.mount.rpy)
    return sensor.mount.link, pose if isinstance(sensor, Lidar) else pose @ _OPTICAL
