"""What was measured in motion is not where it was measured any more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openral.bench.robot import bench_robot
from openral.safety import Kernel, Sphere
from tests.safety.helpers import NOW, M, chunk
from tests.safety.oracle import Oracle

EASY = {"ee_speed_m_s": 50.0, "ee_angular_rad_s": 50.0}


def moving(robot: Any, obstacles: list[Sphere], age_s: float = 0.0, **speeds: float) -> Kernel:
    kernel = Kernel(robot)
    velocities = dict.fromkeys(robot.joint_names, 0.0) | speeds
    kernel.set_state(robot.home, velocities, NOW - round(age_s * 1e9))
    kernel.set_world(obstacles, NOW)
    return kernel


def speck(robot: Any, **moved: float) -> Sphere:
    oracle = Oracle(robot, [])
    oracle.place([robot.home[n] + moved.get(n, 0.0) for n in robot.joint_names])
    x, y, z = oracle.data.geom("hand.0").xpos
    return Sphere("speck", (float(x), float(y), float(z)), 0.005)


def test_a_joint_that_no_slot_commands_goes_on_while_it_stops() -> None:
    robot = bench_robot(tracking_error=0.0, stop_s=0.3, **EASY)
    rows = chunk(M.JOINT_POSITION, [[robot.home["joint7"]]], joint_names=["joint7"])
    ball = speck(robot, joint1=0.55)
    assert moving(robot, [ball]).validate(rows, NOW).accepted
    verdict = moving(robot, [ball], joint1=2.0).validate(rows, NOW)
    assert verdict.status == "world_collision", str(verdict)


def test_tracking_errors_count_from_where_the_robot_was_measured() -> None:
    """It moves away from its rows' start while the measurement grows old; the rows lead back to
    where it is by now, so they alone are hardly a motion."""
    robot = bench_robot(tracking_error=0.05, stop_s=0.001, state_max_age_s=0.5, **EASY)
    joint, speed, age = "joint1", 0.1, 0.4
    # 40 mrad since it was measured; to where the middle of that is, less than a hair.
    rows = chunk(M.JOINT_POSITION, [[robot.home[joint] + 0.02]], joint_names=[joint])
    still = moving(robot, []).clearance([robot.home[n] for n in robot.joint_names])
    assert still[0] > 0.3
    reach = []
    for moved in np.linspace(0.0, 0.6, 121):
        ball = speck(robot, joint1=0.02, joint2=float(moved))
        verdict = moving(robot, [ball], age, **{joint: speed}).validate(rows, NOW)
        reach.append((verdict.accepted, float(moved)))
    clear = min(m for accepted, m in reach if accepted)
    # Joint 2 strays by as much as joint 1 has been commanded to move: 40 mrad, not half of that.
    resting = min(
        m for m in np.linspace(0.0, 0.6, 121)
        if moving(robot, [speck(robot, joint1=0.02, joint2=float(m))], age)
        .validate(chunk(M.JOINT_POSITION, [[robot.home[joint]]], joint_names=[joint]), NOW).accepted
    )  # fmt: skip
    assert clear - resting >= 0.035


def test_velocity_rows_keep_the_limits_wherever_they_may_lead() -> None:
    robot = bench_robot(rate_jitter=0.05, **EASY)
    high = robot.joint("joint4").position_range[1]
    start = dict(robot.home, joint4=high - 0.1)
    kernel = Kernel(robot)
    for step, status in ((0.094, "accepted"), (0.099, "position_limit")):
        kernel.reset()
        kernel.set_state(start, dict.fromkeys(start, 0.0), NOW)
        kernel.set_world([], NOW)
        rows = chunk(M.JOINT_VELOCITY, [[step / 2 / 0.05]] * 2, joint_names=["joint4"])
        verdict = kernel.validate(rows, NOW)
        assert verdict.status == status and (verdict.accepted or verdict.joint == "joint4")


def test_a_row_exactly_at_a_limit_and_a_robot_that_rests_there_pass() -> None:
    robot = bench_robot(**EASY)
    high = robot.joint("joint4").position_range[1]
    start = dict(robot.home, joint4=high)
    kernel = Kernel(robot)
    kernel.set_state(start, dict.fromkeys(start, 0.0), NOW)
    kernel.set_world([], NOW)
    for mode, value in ((M.JOINT_POSITION, high), (M.JOINT_VELOCITY, 0.0)):
        rows = chunk(mode, [[value]] * 3, joint_names=["joint4"])
        assert kernel.validate(rows, NOW).accepted


@pytest.mark.parametrize("speed", [1e5, -30.0])
def test_a_speed_that_cannot_be_makes_the_state_unusable(speed: float) -> None:
    robot = bench_robot(**EASY)
    rows = chunk(M.JOINT_POSITION, [robot.home_position])
    verdict = moving(robot, [], joint2=speed).validate(rows, NOW)
    assert verdict.status == "state_unavailable" and not verdict.latched
    assert moving(robot, [], joint2=1.5).validate(rows, NOW).status != "state_unavailable"
