"""A plain rclpy node, run by a real ROS 2: publishes and hears what its first input line says.

Speaks JSON lines on stdout: {"heard": topic, "fields": ...}, then on further input the names of the
nodes it sees, then it tries a service of ours and leaves.
"""

import hashlib
import importlib
import json
import random
import sys
import threading
import time

import rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy


def load(name):
    package, _, short = name.split("/")
    return getattr(importlib.import_module(f"{package}.msg"), short)


def fill(message, fields):
    for name, value in fields.items():
        kind = message.get_fields_and_field_types()[name]
        if isinstance(value, dict) and "random" in value:
            setattr(message, name, random.Random(value["random"]).randbytes(value["size"]))
        elif isinstance(value, dict):
            fill(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            package, short = kind.removeprefix("sequence<").removesuffix(">").split("/")
            made = [load(f"{package}/msg/{short}")() for _ in value]
            setattr(
                message, name, [fill(item, part) for item, part in zip(made, value, strict=True)]
            )
        else:
            setattr(message, name, value)
    return message


def plain(value):
    if hasattr(value, "get_fields_and_field_types"):
        return {name: plain(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, (str, bool, int, float)):
        return value
    items = list(value)
    if len(items) > 1000:
        return {"sha256": hashlib.sha256(bytes(items)).hexdigest()}
    return (
        [plain(item) for item in items]
        if items and not isinstance(items[0], float)
        else [float(item) for item in items]
    )


def say(**data):
    print(json.dumps(data), flush=True)


def main():
    topics = json.loads(sys.stdin.readline())
    rclpy.init()
    node = Node("ros_peer")
    heard = set()
    publishers = []

    def on_message(name, message):
        if name not in heard:
            heard.add(name)
            say(heard=name, fields=plain(message))

    for topic in topics:
        qos = QoSProfile(
            depth=topic["depth"],
            reliability=ReliabilityPolicy.RELIABLE
            if topic["reliable"]
            else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL
            if topic["latched"]
            else DurabilityPolicy.VOLATILE,
        )
        kind, name = load(topic["type"]), topic["name"]
        node.create_subscription(
            kind, f"/ours/{name}", lambda message, name=name: on_message(name, message), qos
        )
        publisher = node.create_publisher(kind, f"/theirs/{name}", qos)
        message = fill(kind(), topic["fields"])
        publishers.append((publisher, message, topic["latched"]))
        if topic["latched"]:
            publisher.publish(message)

    def publish():
        for publisher, message, latched in publishers:
            if not latched:
                publisher.publish(message)

    node.create_timer(0.2, publish)
    asked = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), asked.set()), daemon=True).start()
    say(ready=True)
    while not asked.is_set():
        rclpy.spin_once(node, timeout_sec=0.05)
    ours = [name for name, _ in node.get_node_names_and_namespaces()]
    hashes = [
        str(info.topic_type_hash)
        for info in node.get_publishers_info_by_topic("/ours/joint_states")
    ]
    owners = [info.node_name for info in node.get_publishers_info_by_topic("/ours/joint_states")]
    say(nodes=ours, hashes=hashes, owners=owners)
    from rcl_interfaces.srv import GetParameters

    client = node.create_client(GetParameters, "/openral_node/get_parameters")
    give_up = time.time() + 20
    while not client.service_is_ready() and time.time() < give_up:
        rclpy.spin_once(node, timeout_sec=0.05)
    say(called=True)
    for _ in range(60):  # a request may be sent before the other side has matched
        client.call_async(GetParameters.Request(names=["use_sim_time"]))
        until = time.time() + 0.5
        while time.time() < until:
            rclpy.spin_once(node, timeout_sec=0.1)
    sys.stdin.readline()


main()
