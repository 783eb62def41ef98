"""The sensor topics of a robot's graph with their nominal rates, which the supervisor monitors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openral.graph import topics
from openral.hal.topics import SCAN
from openral.hal.topics import camera as camera_topic
from openral.hal.topics import lidar as lidar_topic
from openral.manifest import RobotDescription
from openral.manifest.sensor import Camera, DepthCamera
from openral.ros.qos import SENSOR, STATE

JOINT_STATE_HZ = 50.0
_IMAGE = "sensor_msgs/msg/Image"


@dataclass(frozen=True)
class Stream:
    """One topic with its nominal rate in Hz of the graph's clock."""

    topic: str
    type_name: str
    hz: float
    qos: Any = SENSOR
    is_picture: bool = False
    is_heavy: bool = False
    """Costly to produce and to transport."""


def streams_of(robot: RobotDescription, joint_state_hz: float = JOINT_STATE_HZ) -> list[Stream]:
    """The streams that the robot's manifest specifies."""
    found = [Stream(topics.JOINT_STATES, "sensor_msgs/msg/JointState", joint_state_hz)]
    if robot.base_joints:
        found.append(Stream(topics.ODOM, "nav_msgs/msg/Odometry", joint_state_hz, STATE))
    for camera in robot.cameras:
        found += _camera_streams(camera)
    for lidar in robot.lidars:
        alone = len(robot.lidars) == 1
        topic = SCAN if alone else lidar_topic(lidar.name)
        found.append(Stream(topic, "sensor_msgs/msg/LaserScan", lidar.rate_hz))
    return found


def _camera_streams(camera: Camera | DepthCamera) -> list[Stream]:
    name, hz = camera.name, camera.rate_hz
    if isinstance(camera, Camera):
        return [Stream(camera_topic(name, "image"), _IMAGE, hz, SENSOR, True, True)]
    cloud = "sensor_msgs/msg/PointCloud2"
    return [
        Stream(camera_topic(name, "depth"), _IMAGE, hz, SENSOR, True, True),
        Stream(camera_topic(name, "points"), cloud, hz, is_heavy=True),
    ]
