"""A robot behind ros2_control, simulated: joint states out, controller commands in."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from openral.manifest import load_robot
from openral.ros.codec import types
from openral.ros.node.executor import spin
from openral.ros.node.node import Node
from openral.ros.qos import COMMAND, SENSOR
from openral.ros.stamps import time_message

PERIOD_S = 0.01


class Controllers(Node):
    """Joints follow their targets as fast as their limits allow, from home."""

    def __init__(self, robot: str, kind: str, prefix: str, namespace: str = "/vendor") -> None:
        super().__init__("controllers", namespace)
        described = load_robot(robot)
        self.names = [prefix + name for name in described.joint_names]
        self.q = np.array(described.home_position)
        self.dq = np.zeros(self.q.size)
        self.target = self.q.copy()
        self.step = np.array([j.limits.velocity for j in described.driven if j.limits]) * PERIOD_S
        self.states = self.create_publisher("sensor_msgs/msg/JointState", "joint_states", SENSOR)
        if kind == "trajectory":
            topic = "arm_controller/joint_trajectory"
            self.create_subscription(
                "trajectory_msgs/msg/JointTrajectory", topic, self._follow, COMMAND
            )
        else:
            self.create_subscription(
                "std_msgs/msg/Float64MultiArray", "arm_controller/commands", self._jump, COMMAND
            )
        self.with_velocities = kind == "trajectory"
        self.create_timer(PERIOD_S, self._move)

    def _follow(self, message: Any) -> None:
        point = message.points[-1]
        for name, position in zip(message.joint_names, point.positions, strict=True):
            self.target[self.names.index(name)] = position

    def _jump(self, message: Any) -> None:
        self.target = np.array(message.data)

    def _move(self) -> None:
        step = np.clip(self.target - self.q, -self.step, self.step)
        self.q = self.q + step
        self.dq = step / PERIOD_S
        header = types.new("std_msgs/msg/Header", stamp=time_message(time.time_ns()))
        velocity = self.dq if self.with_velocities else []
        self.states.publish(
            types.new(
                "sensor_msgs/msg/JointState",
                header=header,
                name=self.names[::-1],
                position=self.q[::-1].copy(),
                velocity=np.array(velocity)[::-1].copy(),
            )
        )


node = Controllers(*sys.argv[1:])
print("ready", flush=True)
spin(node)
