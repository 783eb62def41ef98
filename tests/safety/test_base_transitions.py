"""A base does not change its velocity at once: where that takes it counts in every row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openral.manifest import load_robot
from openral.manifest.robot import RobotDescription
from openral.safety import Box, Kernel, Obstacle, Sphere
from tests.safety.helpers import NOW, M, chunk, composite, mobile_robot
from tests.safety.oracle import Oracle

PRECISE = {"tracking_error": 0.0, "ee_speed_m_s": 50.0, "ee_angular_rad_s": 50.0}


def moving(robot: RobotDescription, obstacles: list[Obstacle], **velocities: float) -> Kernel:
    kernel = Kernel(robot)
    kernel.set_state(robot.home, dict.fromkeys(robot.joint_names, 0.0) | velocities, NOW)
    kernel.set_base((0.0, 0.0, 0.0), NOW)
    kernel.set_world(obstacles, NOW)
    return kernel


def speck(robot: RobotDescription, joints: dict[str, float], base: Any) -> Sphere:
    """A small ball in the hand, once joints and base have moved by this much."""
    names = [j.name for j in robot.driven if j.role != "base"]
    oracle = Oracle(robot, [])
    oracle.place([robot.home[n] + joints.get(n, 0.0) for n in names], base)
    x, y, z = oracle.data.geom("hand.0").xpos
    return Sphere("speck", (float(x), float(y), float(z)), 0.005)


def test_a_base_brakes_under_a_zero_twist_while_the_arm_reaches_out() -> None:
    robot = load_robot("panda_mobile")
    names = robot.joint_names[3:10]
    rows = np.tile([robot.home[n] for n in names], (10, 1))
    reach = np.linspace(0.0, 0.45, 11)[1:]
    rows[:, 1] += reach
    rows[:, 3] += reach
    arm = chunk(M.JOINT_POSITION, rows, joint_names=list(names))
    still = chunk(M.BODY_TWIST, np.zeros((10, 3)))
    wall: list[Obstacle] = [Box("wall", (1.03, 0.0, 1.2), (0.05, 1.0, 0.5))]
    for whole in (composite([arm, still]), arm):
        assert moving(robot, wall).validate(whole, NOW).accepted
        assert moving(robot, [], base_x=0.7).validate(whole, NOW).accepted
        verdict = moving(robot, wall, base_x=0.7).validate(whole, NOW)
        assert verdict.status == "world_collision", str(verdict)


@pytest.mark.parametrize("row", [0, 4, 9])
def test_what_a_base_has_gone_too_far_is_there_in_every_later_row(row: int) -> None:
    """It brakes from 0.8 m/s, 0.32 m, while the arm turns."""
    robot = mobile_robot(**PRECISE)
    turn = 0.9 * (np.arange(1, 11)[:, None] / 10)
    arm = chunk(M.JOINT_POSITION, robot.home["joint1"] + turn, joint_names=["joint1"])
    whole = composite([arm, chunk(M.BODY_TWIST, np.zeros((10, 3)))])
    ball = speck(robot, {"joint1": float(turn[row, 0])}, (0.3, 0.0, 0.0))
    assert moving(robot, [ball]).validate(whole, NOW).accepted
    assert moving(robot, [ball], base_x=0.8).validate(whole, NOW).status == "world_collision"


def test_a_base_that_drives_ahead_and_is_commanded_sideways_goes_on_ahead_too() -> None:
    robot = mobile_robot(**PRECISE)
    sideways = chunk(M.BODY_TWIST, np.tile([0.0, 0.8, 0.0], (10, 1)))
    # Both ways at once: 0.25 m ahead while it is 0.3 m to the left.
    ball = speck(robot, {}, (0.25, 0.3, 0.0))
    assert moving(robot, [ball], base_y=0.8).validate(sideways, NOW).accepted
    assert moving(robot, [ball], base_x=0.8).validate(sideways, NOW).status == "world_collision"


def test_a_corner_inside_a_chunk_is_not_driven_sharply() -> None:
    robot = mobile_robot(**PRECISE)
    ahead, left = np.tile([0.8, 0.0, 0.0], (8, 1)), np.tile([0.0, 0.8, 0.0], (8, 1))
    corner = chunk(M.BODY_TWIST, np.vstack([ahead, left]))
    # 0.32 m ahead as commanded and 0.3 m more, while it is on its way to the left already.
    ball = speck(robot, {}, (0.6, 0.25, 0.0))
    straight = chunk(M.BODY_TWIST, np.tile([0.8, 0.0, 0.0], (8, 1)))
    assert moving(robot, [ball], base_x=0.8).validate(straight, NOW).accepted
    assert moving(robot, [ball], base_x=0.8).validate(corner, NOW).status == "world_collision"


def test_a_stop_while_the_velocity_changes_takes_the_velocity_that_is_left() -> None:
    """From 0.8 m/s ahead to 0.8 m/s back: stopped at once it goes on ahead, 0.32 m."""
    robot = mobile_robot(**PRECISE)
    back = chunk(M.BODY_TWIST, np.tile([-0.8, 0.0, 0.0], (10, 1)))
    ball = speck(robot, {}, (0.3, 0.0, 0.0))
    assert moving(robot, [ball]).validate(back, NOW).accepted
    assert moving(robot, [ball], base_x=0.8).validate(back, NOW).status == "world_collision"


@pytest.mark.parametrize("mode", [M.JOINT_POSITION, M.JOINT_VELOCITY])
def test_a_base_driven_by_its_joints_brakes_too(mode: Any) -> None:
    robot = mobile_robot(**PRECISE)
    speed = 0.8
    data = np.full((4, 1), speed)
    if mode is M.JOINT_POSITION:
        data = np.cumsum(data * 0.05, axis=0)
    rows = chunk(mode, data, joint_names=["base_x"])
    # 0.16 m commanded, 0.32 m to brake.
    for place, accepted in ((0.45, False), (1.2, True)):
        ball = speck(robot, {}, (place, 0.0, 0.0))
        assert moving(robot, [ball], base_x=speed).validate(rows, NOW).accepted is accepted


@pytest.mark.parametrize("twist", [(0.5, 0.0, 0.0), (0.3, 0.2, 0.0), (0.4, 0.0, 0.5)])
def test_driving_under_repeated_twists_is_not_refused_for_nothing(
    twist: tuple[float, float, float],
) -> None:
    """20 Hz, walls beside the way and one behind, noise on what is measured."""
    robot = load_robot("panda_mobile")
    rng = np.random.default_rng(3)
    found = np.zeros(3)
    behind = Box("wall", (-0.85, 0.0, 0.5), (0.05, 1.0, 0.5))
    aside = [Box(f"wall{s}", (0.0, s * 1.1, 0.5), (3.0, 0.05, 0.5)) for s in (-1, 1)]
    obstacles: list[Obstacle] = [behind] if twist[1] or twist[2] else [behind, *aside]
    for _ in range(30):
        found += (np.array(twist) - found) * 0.4
        noisy = found + rng.normal(0.0, 0.005, 3)
        velocities = dict(zip(("base_x", "base_y", "base_yaw"), noisy.tolist(), strict=True))
        kernel = moving(robot, obstacles, **velocities)
        verdict = kernel.validate(chunk(M.BODY_TWIST, np.tile(twist, (4, 1))), NOW)
        assert verdict.accepted and verdict.speed_factor == 1.0, str(verdict)
