"""A plain rclpy node, run by a real ROS 2: hears a robot's topics, then drives its base.

Speaks JSON lines on stdout: one for the first message of each topic, then after an input line one
for each moment in which it drives, until its input ends.
"""

import json
import sys
import threading

import rclpy
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image, JointState, LaserScan


def say(**data):
    print(json.dumps(data), flush=True)


def about(message):
    """What the other side compares."""
    if isinstance(message, Clock):
        return {"ns": message.clock.sec * 10**9 + message.clock.nanosec}
    stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
    if isinstance(message, JointState):
        return {"ns": stamp, "names": list(message.name), "q": list(message.position)}
    if isinstance(message, Image):
        data = bytes(message.data)
        return {
            "ns": stamp,
            "size": [message.width, message.height, len(data)],
            "shades": len(set(data)),
        }
    ranges = [r for r in message.ranges if message.range_min <= r <= message.range_max]
    return {"ns": stamp, "beams": len(message.ranges), "hits": len(ranges)}


def main():
    image = sys.argv[1]
    rclpy.init()
    node = Node("ros_driver")
    heard = set()
    place = []

    def hear(kind, topic):
        def take(message):
            if topic not in heard:
                heard.add(topic)
                say(heard=topic, **about(message))

        node.create_subscription(kind, topic, take, qos_profile_sensor_data)

    hear(JointState, "/joint_states")
    hear(Image, image)
    hear(LaserScan, "/scan")
    hear(Clock, "/clock")
    node.create_subscription(
        Odometry, "/odom", lambda m: place.append(m.pose.pose.position.x), qos_profile_sensor_data
    )
    wheel = node.create_publisher(Twist, "/cmd_vel", 1)
    orders = [threading.Event(), threading.Event()]

    def listen():
        for order in orders:
            sys.stdin.readline()
            order.set()

    threading.Thread(target=listen, daemon=True).start()
    say(ready=True)
    drive, end = orders

    def act():
        if drive.is_set():
            twist = Twist()
            twist.linear.x = 0.3
            wheel.publish(twist)
            say(x=place[-1] if place else None)

    node.create_timer(0.05, act)
    while not end.is_set():
        rclpy.spin_once(node, timeout_sec=0.05)
    say(done=True)


main()
