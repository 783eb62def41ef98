"""A real ROS 2 node beside a running `deploy sim`: it sees what the robot sees, and drives it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from openral.graph import topics
from openral.hal.topics import SCAN, camera
from openral.manifest import load_robot
from openral.ros.qos import SENSOR
from tests.ros.conftest import wait_until
from tests.ros.interop.ros_process import end_ros, hear, start_ros, tell
from tests.system.graph import ARMED, Deployment

IMAGE = camera("wrist", "image")
ROBOT = load_robot("panda_mobile")


@pytest.fixture
def driver(domain: int) -> Iterator[subprocess.Popen[str]]:
    process = start_ros(domain, "ros_driver.py", IMAGE)
    yield process
    end_ros(process)


@pytest.fixture
def kitchen(domain: int, driver: subprocess.Popen[str]) -> Iterator[Deployment]:
    graph = Deployment(domain, "--config", "kitchen", "--robot", "panda_mobile")
    try:
        graph.wait_armed()
        yield graph
    finally:
        graph.close()


def test_a_real_ros_2_hears_a_running_robot_and_drives_it(
    kitchen: Deployment, driver: subprocess.Popen[str]
) -> None:
    odometry = kitchen.observer.hear("nav_msgs/msg/Odometry", topics.ODOM, SENSOR)
    assert hear(driver)["ready"]
    heard = {}
    while heard.keys() != {topics.JOINT_STATES, IMAGE, SCAN, "/clock"}:
        line = hear(driver)
        heard[line.pop("heard")] = line
    assert heard[topics.JOINT_STATES]["names"] == ROBOT.joint_names
    wrist = next(sensor for sensor in ROBOT.cameras if sensor.name == "wrist")
    width, height = wrist.resolution
    assert heard[IMAGE]["size"] == [width, height, width * height * 3]
    assert heard[IMAGE]["shades"] > 20
    assert heard[SCAN]["beams"] >= heard[SCAN]["hits"] > 20
    stamps = [line["ns"] for line in heard.values()]
    assert 0 <= min(stamps) <= max(stamps) < 600 * 10**9  # all on the simulator's time

    start = wait_until(lambda: odometry)[-1].pose.pose.position.x
    tell(driver, "drive")

    kitchen.until(lambda: odometry[-1].pose.pose.position.x > start + 0.1)
    line = hear(driver)
    while not (line.get("x") or 0.0) > start + 0.05:
        line = hear(driver)
    tell(driver, "enough")
    while "done" not in line:
        line = hear(driver)
    wait_until(lambda: abs(odometry[-1].twist.twist.linear.x) < 0.01)
    assert kitchen.observer.heard[topics.VERDICT]
    assert kitchen.observer.safety.state == ARMED
    summary = kitchen.interrupt()
    assert (summary["returncode"], summary["estops"]) == (0, 0)
