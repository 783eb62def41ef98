"""A real ROS 2 Jazzy (rclpy on FastDDS) on the other side, both directions."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from openral.ros.codec import types
from openral.ros.codec.convert import from_dict, to_dict
from openral.ros.graph import Graph
from openral.ros.qos import CLOCK, DEFAULT, LATCHED, SENSOR
from tests.ros.interop.ros_process import end_ros, hear, start_ros, tell

STAMP = {"sec": 1700000000, "nanosec": 123456789}
HEADER = {"stamp": STAMP, "frame_id": "base_link"}
POSE = {"position": {"x": 1.0, "y": -2.0, "z": 0.5}, "orientation": {"z": 0.6, "w": 0.8}}
TWIST = {"linear": {"x": 0.25, "y": -0.5}, "angular": {"z": 1.5}}
FIELD = {"offset": 0, "datatype": 7, "count": 1}
TOPICS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "joint_states": (
        "sensor_msgs/msg/JointState",
        DEFAULT,
        {
            "header": HEADER,
            "name": [f"joint{n}" for n in range(8)],
            "position": [0.125 * n for n in range(8)],
            "velocity": [-1.5] * 8,
            "effort": [],
        },
    ),
    "clock": ("rosgraph_msgs/msg/Clock", CLOCK, {"clock": STAMP}),
    "image": (
        "sensor_msgs/msg/Image",
        SENSOR,
        {
            "header": HEADER,
            "height": 480,
            "width": 640,
            "encoding": "rgb8",
            "step": 1920,
            "data": {"random": 1, "size": 640 * 480 * 3},
        },
    ),
    "points": (
        "sensor_msgs/msg/PointCloud2",
        SENSOR,
        {
            "header": HEADER,
            "height": 1,
            "width": 5000,
            "fields": [{**FIELD, "name": "x"}, {**FIELD, "name": "y", "offset": 4}],
            "point_step": 8,
            "row_step": 40000,
            "data": {"random": 2, "size": 40000},
            "is_dense": True,
        },
    ),
    "scan": (
        "sensor_msgs/msg/LaserScan",
        SENSOR,
        {"header": HEADER, "angle_min": -1.5, "range_max": 8.0, "ranges": [0.5, 1.25, 8.0]},
    ),
    "odom": (
        "nav_msgs/msg/Odometry",
        DEFAULT,
        {
            "header": HEADER,
            "child_frame_id": "base",
            "pose": {"pose": POSE},
            "twist": {"twist": TWIST},
        },
    ),
    "cmd_vel": ("geometry_msgs/msg/Twist", DEFAULT, TWIST),
    "robot_description": ("std_msgs/msg/String", LATCHED, {"data": "<robot name='ü'/>"}),
}


def made(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields with their random bytes in place."""
    return {
        name: np.frombuffer(random.Random(value["random"]).randbytes(value["size"]), np.uint8)
        if isinstance(value, dict) and "random" in value
        else value
        for name, value in fields.items()
    }


def plain(message: Any) -> Any:
    """The message as the other side prints it."""
    data = to_dict(message)
    for name, value in data.items():
        if isinstance(value, list) and len(value) > 1000:
            data[name] = {"sha256": hashlib.sha256(bytes(value)).hexdigest()}
    return data


@pytest.fixture
def peer(domain: int) -> Iterator[subprocess.Popen[str]]:
    process = start_ros(domain, "ros_peer.py")
    yield process
    end_ros(process)


def test_a_real_ros_2_and_we_understand_each_other(
    graph: Any, until: Any, peer: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    node = graph.node("openral_node")
    got: dict[str, Any] = {}
    publishers = []
    for name, (kind, qos, fields) in TOPICS.items():
        publisher = node.create_publisher(kind, f"/ours/{name}", qos)
        message = from_dict(kind, made(fields))
        if qos.latched:
            publisher.publish(message)
        else:
            publishers.append((publisher, message))
        node.create_subscription(
            kind, f"/theirs/{name}", lambda m, name=name: got.setdefault(name, m), qos
        )
    node.create_timer(0.2, lambda: [p.publish(m) for p, m in publishers] and None)
    orders = [
        {
            "name": name,
            "type": kind,
            "fields": fields,
            "reliable": qos.reliable,
            "latched": qos.latched,
            "depth": qos.depth,
        }
        for name, (kind, qos, fields) in TOPICS.items()
    ]
    tell(peer, json.dumps(orders))
    heard: dict[str, Any] = {}
    while heard.keys() != TOPICS.keys():
        line = hear(peer)
        if "heard" in line:
            heard[line["heard"]] = line["fields"]
    until(lambda: got.keys() == TOPICS.keys(), 60.0)
    for name, (kind, _, fields) in TOPICS.items():
        expected = plain(from_dict(kind, made(fields)))
        assert plain(got[name]) == expected, f"{name} from ROS"
        assert heard[name] == expected, f"{name} to ROS"

    view = Graph(node.context)
    until(lambda: "/ros_peer" in [n.full_name for n in view.nodes()])
    view.close()
    tell(peer, "names, please")
    answer = hear(peer)
    assert "openral_node" in answer["nodes"]
    assert answer["owners"] == ["openral_node"]
    assert types.type_hash("sensor_msgs/msg/JointState") in answer["hashes"][0]

    assert hear(peer)["called"]
    services = {service.name: service for service in node._services}
    asked = services["/openral_node/get_parameters"]
    until(lambda: asked.faults.count > 0)
    assert "RMW_IMPLEMENTATION=rmw_cyclonedds_cpp" in capfd.readouterr().err
