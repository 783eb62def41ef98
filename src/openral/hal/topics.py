"""Names of the HAL node's topics and services, besides those in graph/topics.py."""

from __future__ import annotations

APPLIED = "/openral/applied_action"
FAILURE = "/openral/failure/hal"
OBJECTS = "/openral/objects"
"""The task's objects with their true poses: simulation only, not an input of the kernel."""
EPISODE = "/openral/episode"
RESET_SCENE = "/openral/reset_scene"
DIAGNOSTICS = "/diagnostics"
ROBOT_DESCRIPTION = "/robot_description"
CMD_VEL = "/cmd_vel"
SCAN = "/scan"


def camera(sensor: str, what: str) -> str:
    """A camera's topic; `what`: image, camera_info, depth or points."""
    return f"/openral/cameras/{sensor}/{what}"


def lidar(sensor: str) -> str:
    """A lidar's own topic, used if a robot has several."""
    return f"/openral/lidars/{sensor}/scan"


def reset_to_pose(robot_id: str) -> str:
    """The service that moves a robot to a pose."""
    return f"/openral/{robot_id}/reset_to_pose"
