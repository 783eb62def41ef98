"""/robot_description: publishes the robot's URDF, for RViz and planners."""

from __future__ import annotations

from openral.graph.ports import Ports
from openral.hal import topics
from openral.manifest import RobotDescription
from openral.manifest.urdf_writer import urdf_text
from openral.ros import msg
from openral.ros.qos import LATCHED


def publish_description(ports: Ports, robot: RobotDescription) -> None:
    """Publishes it once, latched for late subscribers."""
    out = ports.publisher("std_msgs/msg/String", topics.ROBOT_DESCRIPTION, LATCHED)
    out.publish(msg.String(data=urdf_text(robot)))
