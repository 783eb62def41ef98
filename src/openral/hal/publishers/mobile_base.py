"""MobileBaseBridge: publishes the odometry of a mobile base."""

from __future__ import annotations

import math

from openral.graph import topics
from openral.graph.ports import Ports
from openral.hal.graph_time import GraphTime
from openral.hal.mobile_base import base_state
from openral.hal.snapshot import Snapshot
from openral.manifest import RobotDescription
from openral.ros import msg
from openral.ros.stamps import time_message


class MobileBaseBridge:
    """/odom, and the transform from root to base; the twist is in the base frame."""

    def __init__(self, ports: Ports, robot: RobotDescription, time: GraphTime) -> None:
        self._robot, self._time = robot, time
        self._out = ports.sealed_publisher("nav_msgs/msg/Odometry", topics.ODOM, topics.STATE)

    def publish(self, snapshot: Snapshot) -> msg.TransformStamped:
        """Publishes one measurement; returns the transform for the publisher of /tf."""
        base, robot = base_state(self._robot, snapshot), self._robot
        stamp = time_message(self._time.of(snapshot.stamp_ns))
        header = msg.Header(stamp=stamp, frame_id=robot.root)
        turn = msg.Quaternion(0.0, 0.0, math.sin(base.yaw / 2), math.cos(base.yaw / 2))

        def odometry() -> msg.Odometry:
            message = msg.Odometry(header=header, child_frame_id=robot.base_frame)
            message.pose.pose = msg.Pose(msg.Point(base.x, base.y, 0.0), turn)
            linear = msg.Vector3(base.forward, base.left, 0.0)
            message.twist.twist = msg.Twist(linear, msg.Vector3(0.0, 0.0, base.turn))
            return message

        self._out.publish(odometry)
        place = msg.Transform(msg.Vector3(base.x, base.y, 0.0), turn)
        return msg.TransformStamped(header, robot.base_frame, place)
