"""The same exchange as in ros_latency.py, by a plain rclpy: run with the interop interpreter."""

import json
import sys
import time

import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState

NAMES = [f"joint{number}" for number in range(8)]


def publish(node, seconds):
    publisher = node.create_publisher(JointState, "/joint_states", 10)

    def send():
        now = time.time_ns()
        message = JointState(name=NAMES, position=[0.5] * 8, velocity=[0.1] * 8, effort=[0.0] * 8)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(now, 10**9)
        publisher.publish(message)

    node.create_timer(1 / 500, send)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)


def subscribe(node, count):
    delays = []

    def hear(message):
        sent = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        delays.append(time.time_ns() - sent)

    node.create_subscription(JointState, "/joint_states", hear, 10)
    while len(delays) < count:
        rclpy.spin_once(node, timeout_sec=0.1)
    print(json.dumps(delays))


rclpy.init()
role, amount = sys.argv[1], float(sys.argv[2])
if role == "pub":
    publish(Node("pub"), amount)
else:
    subscribe(Node("sub"), amount)
