"""The HAL's node of a mobile robot in a scene: what it senses, where it is, how it is driven."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest

from openral.graph import topics
from openral.hal import topics as hal_topics
from openral.manifest.kinematics import Kinematics
from openral.ros.codec import types
from openral.ros.qos import LATCHED, SENSOR, QoS
from openral.ros.tf import Buffer, TransformListener
from tests.hal.node_rig import ESTOPPED, HOLDING, MSGS, STOPPED, LiveGraph, live_graph
from tests.ros.conftest import domain, wait_until  # noqa: F401 - a fixture

IMAGE = hal_topics.camera("wrist", "image")
POINTS = hal_topics.camera("front_depth", "points")
DEPTH = hal_topics.camera("front_depth", "depth")


@pytest.fixture(scope="module")
def live(domain: int) -> Iterator[LiveGraph]:  # noqa: F811
    with live_graph(domain, "panda_mobile") as made:
        made.hear("nav_msgs/msg/Odometry", topics.ODOM, SENSOR)
        made.hear(f"{MSGS}/WorldCollision", topics.WORLD, LATCHED)
        made.start_both("sim_env_yaml=kitchen", "camera_hz=5")
        yield made


def once(live: LiveGraph, kind: str, topic: str, qos: QoS = SENSOR) -> Any:
    """One message of a topic that nobody else hears."""
    heard: list[Any] = []
    ear = live.node.create_subscription(kind, topic, heard.append, qos)
    try:
        return wait_until(lambda: heard)[0]
    finally:
        live.node.destroy_subscription(ear)


def stamp_ns(message: Any) -> int:
    return int(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)


def test_pictures_come_with_their_lens_and_the_time_of_the_simulation(live: LiveGraph) -> None:
    abouts: list[Any] = []
    ear = live.node.create_subscription(
        "sensor_msgs/msg/CameraInfo",
        hal_topics.camera("wrist", "camera_info"),
        abouts.append,
        SENSOR,
    )
    image = once(live, "sensor_msgs/msg/Image", IMAGE)
    assert (image.width, image.height, image.encoding, image.step) == (640, 480, "rgb8", 1920)
    assert np.ptp(np.asarray(image.data)) > 50
    assert image.header.frame_id == "wrist_optical_frame"
    assert abs(live.node.now() - stamp_ns(image)) < 2 * 10**9
    about = wait_until(lambda: [m for m in abouts if stamp_ns(m) == stamp_ns(image)])[0]
    live.node.destroy_subscription(ear)
    lens = next(s for s in live.robot.cameras if s.name == "wrist").lens
    assert about.k[0] == pytest.approx(lens.fx)
    assert (about.width, about.height) == (640, 480)


def test_a_scenes_own_camera_is_drawn_for_whoever_listens(live: LiveGraph) -> None:
    image = once(live, "sensor_msgs/msg/Image", hal_topics.camera("room", "image"))
    assert (image.width, image.height) == (640, 480)


def test_clouds_and_depth_agree_and_leave_out_the_robot(live: LiveGraph) -> None:
    cloud = once(live, "sensor_msgs/msg/PointCloud2", POINTS)
    assert (cloud.width, cloud.height, cloud.point_step) == (320, 240, 12)
    points = np.asarray(cloud.data).view(np.float32).reshape(-1, 3)
    seen = points[~np.isnan(points[:, 0])]
    assert len(seen) > 10_000
    camera = next(s for s in live.robot.cameras if s.name == "front_depth")
    near, far = camera.range_m
    assert near <= seen[:, 2].min()
    assert seen[:, 2].max() <= far
    image = once(live, "sensor_msgs/msg/Image", DEPTH)
    assert image.encoding == "32FC1"
    depth = np.asarray(image.data).view(np.float32).reshape(480, 640)
    half = depth[::2, ::2].ravel()
    both = ~np.isnan(points[:, 2]) & np.isfinite(half)
    assert np.median(np.abs(points[both, 2] - half[both])) < 0.01


def test_the_scan_reaches_the_walls(live: LiveGraph) -> None:
    scan = once(live, "sensor_msgs/msg/LaserScan", hal_topics.SCAN)
    lidar = live.robot.lidars[0]
    ranges = np.asarray(scan.ranges)
    assert len(ranges) == lidar.beams
    assert scan.angle_max == pytest.approx(scan.angle_min + 359 * scan.angle_increment)
    hits = ranges[np.isfinite(ranges)]
    assert len(hits) > 200
    assert hits.max() < 7.0
    assert scan.header.frame_id == lidar.frame_id


def test_every_frame_of_the_robot_can_be_looked_up(live: LiveGraph) -> None:
    buffer = Buffer()
    listener = TransformListener(live.node, buffer)
    hand = live.robot.end_effectors[0].link
    frames = ["base_link", hand, "tcp", "base_scan", "wrist_optical_frame", "mast_link"]
    for frame in frames:
        wait_until(lambda frame=frame: buffer.can_transform("odom", frame))
    kinematics = Kinematics(live.robot)
    expected = kinematics.poses(live.q)[kinematics.links.index(hand)]
    found = buffer.lookup("odom", hand).matrix()
    np.testing.assert_allclose(found, expected, atol=5e-3)
    camera = buffer.lookup("wrist", "wrist_optical_frame").matrix()
    np.testing.assert_allclose(camera[:3, 2], [1.0, 0.0, 0.0], atol=1e-9)
    listener.close()


def test_the_description_is_a_urdf_of_the_same_chain(live: LiveGraph) -> None:
    text = once(live, "std_msgs/msg/String", hal_topics.ROBOT_DESCRIPTION, LATCHED).data
    root = ElementTree.fromstring(text)
    assert root.tag == "robot"
    joints = {joint.get("name"): joint for joint in root.findall("joint")}
    arm = [j.name for j in live.robot.driven if j.name not in live.robot.base_joints]
    assert set(arm) <= set(joints)
    assert "base_x" not in joints
    assert mujoco.MjModel.from_xml_string(text).njnt == len(arm) + 1


def drive(live: LiveGraph, forward: float, seconds: float) -> None:
    out = live.node.create_publisher("geometry_msgs/msg/Twist", hal_topics.CMD_VEL, QoS(depth=1))
    wait_until(lambda: out.has_subscribers)
    twist = types.new("geometry_msgs/msg/Twist")
    twist.linear.x = forward
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        out.publish(twist)
        time.sleep(0.05)
    live.node.destroy_publisher(out)


def test_cmd_vel_drives_through_the_kernel_and_stops_when_it_falls_silent(live: LiveGraph) -> None:
    live.arm()
    before, judged = live.latest(topics.ODOM), len(live.heard[topics.VERDICT])
    drive(live, 0.3, 1.0)
    assert len(live.heard[topics.VERDICT]) > judged
    wait_until(lambda: abs(live.latest(topics.ODOM).twist.twist.linear.x) < 0.01)
    wait_until(lambda: live.state.state == HOLDING)
    after = live.latest(topics.ODOM)
    moved = after.pose.pose.position.x - before.pose.pose.position.x
    assert moved > 0.05
    assert (after.header.frame_id, after.child_frame_id) == ("odom", "base_link")


def test_obstacles_are_seen_from_where_the_base_is(live: LiveGraph) -> None:
    """A wall's place in the base frame plus the base's own is the wall's place."""
    world, odom = live.latest(topics.WORLD), live.latest(topics.ODOM)
    wall = next(box for box in world.primitives if box.id == "wall_north")
    pose = odom.pose.pose
    yaw = 2 * math.atan2(pose.orientation.z, pose.orientation.w)
    x, y = wall.pose.position.x, wall.pose.position.y
    seen = pose.position.y + math.sin(yaw) * x + math.cos(yaw) * y
    assert seen == pytest.approx(2.55 + 0.2, abs=0.03)  # the robot's root stands at y = -0.2


def test_cmd_vel_is_ignored_while_stopped(live: LiveGraph) -> None:
    live.call("openral_msgs/srv/EStop", topics.ESTOP, source="operator", reason="test")
    wait_until(lambda: live.safety.state == ESTOPPED and live.state.state == STOPPED)
    judged, place = len(live.heard[topics.VERDICT]), live.q
    drive(live, 0.3, 0.5)
    assert len(live.heard[topics.VERDICT]) == judged
    assert np.abs(live.q - place).max() < 0.01
