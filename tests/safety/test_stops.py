"""Motions that the fuzzer or a reading of the proof found accepted wrongly: each stays refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openral.bench.robot import bench_robot
from openral.manifest import load_robot
from openral.manifest.robot import RobotDescription
from openral.safety import Kernel, Sphere, VoxelGrid
from tests.safety.helpers import NOW, M, at_home, chunk, composite, mobile_robot
from tests.safety.oracle import Oracle

LOOSE = {
    "tracking_error": 0.0, "ee_speed_m_s": 50.0, "ee_angular_rad_s": 50.0, "rate_jitter": 0.0,
}  # fmt: skip


def _velocities(joints: dict[str, float], rows: int = 1) -> Any:
    table = np.tile(list(joints.values()), (rows, 1))
    return chunk(M.JOINT_VELOCITY, table, joint_names=list(joints))


def _positions(robot: RobotDescription, joint: str, by: float, rows: int) -> Any:
    home = robot.home[joint]
    table = home + by * np.arange(1, rows + 1)[:, None] / rows
    return chunk(M.JOINT_POSITION, table, joint_names=[joint])


def _speck_in_the_hand(robot: RobotDescription, moved: dict[str, float], base: Any = (0, 0, 0)):
    """A small ball where the hand is once these joints have moved by this much."""
    names = [j.name for j in robot.driven if j.role != "base"]
    q = [robot.home[n] + moved.get(n, 0.0) for n in names]
    oracle = Oracle(robot, [])
    oracle.place(q, base)
    x, y, z = oracle.data.geom("hand.0").xpos
    return Sphere("speck", (float(x), float(y), float(z)), 0.005)


def _refused(robot: RobotDescription, speck: Sphere, parts: list[Any]) -> None:
    """Refused with the speck, in any order of the slots, and fine without it."""
    for order in (parts, parts[::-1]):
        whole = composite(order) if len(order) > 1 else order[0]
        assert at_home(robot).validate(whole, NOW).accepted
        verdict = at_home(robot, [speck]).validate(whole, NOW)
        assert verdict.status == "world_collision", str(verdict)


def test_joints_of_two_velocity_slots_stop_together() -> None:
    robot = bench_robot(stop_s=0.3, **LOOSE)
    both = {"joint1": 2.0 * 0.35, "joint4": 2.0 * 0.35}
    speck = _speck_in_the_hand(robot, both)
    _refused(robot, speck, [_velocities({"joint1": 2.0}), _velocities({"joint4": 2.0})])


def test_joints_stop_where_another_slot_has_taken_the_arm() -> None:
    robot = bench_robot(stop_s=0.3, **LOOSE)
    speck = _speck_in_the_hand(robot, {"joint1": 2.0 * 0.8, "joint4": 0.6})
    parts = [_velocities({"joint1": 2.0}, 10), _positions(robot, "joint4", 0.6, 10)]
    _refused(robot, speck, parts)


@pytest.mark.parametrize("row", [2.0, 5.5])
def test_in_the_middle_of_a_steady_chunk_only_what_is_told_velocities_goes_on(row: float) -> None:
    """Neither slot changes its speed, so no row looks like a turn; a stop leaves the path there."""
    robot = bench_robot(stop_s=0.3, **LOOSE)
    ahead = {"joint1": 2.0 * (row * 0.05 + 0.25), "joint4": 0.6 * row / 10}
    parts = [_velocities({"joint1": 2.0}, 10), _positions(robot, "joint4", 0.6, 10)]
    _refused(robot, _speck_in_the_hand(robot, ahead), parts)


def test_in_the_middle_of_a_steady_drive_the_arm_stops_before_the_base() -> None:
    robot = mobile_robot(**LOOSE)
    drive = chunk(M.BODY_TWIST, np.tile([1.0, 0.0, 0.0], (10, 1)))
    speck = _speck_in_the_hand(robot, {"joint1": 0.9 * 0.3}, (0.15 + 0.3, 0.0, 0.0))
    _refused(robot, speck, [drive, _positions(robot, "joint1", 0.9, 10)])


def test_a_base_brakes_with_the_arm_where_the_rows_have_taken_it() -> None:
    robot = mobile_robot(**LOOSE)
    drive = chunk(M.BODY_TWIST, np.tile([1.0, 0.0, 0.0], (10, 1)))
    speck = _speck_in_the_hand(robot, {"joint1": 0.9}, (0.5 + 0.45, 0.0, 0.0))
    _refused(robot, speck, [drive, _positions(robot, "joint1", 0.9, 10)])


def test_a_joint_that_reaches_its_limit_while_stopping_does_not_hold_back_the_others() -> None:
    robot = bench_robot(stop_s=0.4, **LOOSE)
    limit = next(j for j in robot.driven if j.name == "joint4").position_range[1]
    start = dict(robot.home, joint4=limit - 0.3)
    rows = _velocities({"joint1": 2.0, "joint4": 2.0})
    # joint4 has stopped at its limit while joint1 has gone 0.25 of its 0.8 rad.
    speck = _speck_in_the_hand(robot, {"joint1": 0.35, "joint4": limit - robot.home["joint4"]})
    for obstacles, status in (([], "accepted"), ([speck], "world_collision")):
        kernel = Kernel(robot)
        kernel.set_world(obstacles, NOW)
        kernel.set_state(start, dict.fromkeys(start, 0.0), NOW)
        assert kernel.validate(rows, NOW).status == status


def test_a_full_circle_does_not_hide_the_speed_of_the_base() -> None:
    robot = mobile_robot(**LOOSE)
    turn = 1.4
    circle = chunk(M.BODY_TWIST, [[5.0, 0.0, turn]], dt=2 * np.pi / turn)
    verdict = at_home(robot).validate(circle, NOW)
    assert verdict.status == "base_speed"
    assert verdict.value == pytest.approx(5.0)


def test_an_old_heading_counts_more_the_farther_the_base_drives() -> None:
    robot = mobile_robot(**LOOSE)
    turned, distance = 0.3, 3.0
    rows = chunk(M.BODY_TWIST, np.tile([1.0, 0.0, 0.0], (60, 1)))
    cells = np.ones((1, 1, 1), bool)
    # The world was seen before the base turned: straight ahead now is to the left in that view.
    at = (distance * np.cos(turned), distance * np.sin(turned), 0.25)
    kernel = Kernel(robot)
    kernel.set_base((0.0, 0.0, 0.0), NOW - 10_000_000)
    kernel.set_voxels(VoxelGrid(cells, at, 0.02), NOW - 10_000_000)
    kernel.set_base((0.0, 0.0, turned), NOW)
    kernel.set_state(robot.home_position, stamp_ns=NOW)
    assert kernel.validate(rows, NOW).status == "voxel_collision"


@pytest.mark.parametrize("mode", [M.JOINT_VELOCITY, M.JOINT_POSITION])
def test_joints_of_the_base_keep_their_own_limits(mode: Any) -> None:
    robot = mobile_robot(**LOOSE)
    data = [[3.0]] if mode is M.JOINT_VELOCITY else [[3.0 * 0.05]]
    verdict = at_home(robot).validate(chunk(mode, data, joint_names=["base_x"]), NOW)
    assert verdict.status == "velocity_limit"
    assert verdict.joint == "base_x"


def test_joints_of_the_base_stay_within_their_range() -> None:
    robot = mobile_robot(**LOOSE)
    kernel = at_home(robot)
    kernel.set_state(dict(robot.home, base_x=19.9), dict.fromkeys(robot.home, 0.0), NOW)
    rows = chunk(M.JOINT_POSITION, [[19.94], [19.98], [20.02]], joint_names=["base_x"])
    assert kernel.validate(rows, NOW).status == "position_limit"


def test_joints_stop_one_after_another() -> None:
    """Where one has stopped at once and the others only after all of the stopping time."""
    robot = load_robot("franka_panda")
    names = list(robot.joint_names)
    q = np.array([0.049, 0.048, -0.04, -1.571, -0.079, 1.599, -0.841, 0.04])
    v = np.array([-1.007, 0.0, 1.43, 0.0, -1.465, 0.0, 0.0])
    rows = chunk(M.JOINT_VELOCITY, [v], joint_names=names[:7])
    for obstacles, status in (
        ([], "accepted"),
        ([Sphere("speck", (0.523, -0.066, 0.631), 0.001)], "world_collision"),
    ):
        kernel = Kernel(robot)
        kernel.set_state(q, stamp_ns=NOW)
        kernel.set_world(obstacles, NOW)
        assert kernel.validate(rows, NOW).status == status


@pytest.mark.parametrize("late", ["joint1", "joint4"])
def test_in_a_steady_chunk_either_joint_may_stop_late(late: str) -> None:
    robot = bench_robot(stop_s=0.3, **LOOSE)
    on_the_way = dict.fromkeys(("joint1", "joint4"), 1.0 * 5 * 0.05)
    ball = _speck_in_the_hand(robot, on_the_way | {late: on_the_way[late] + 0.28})
    _refused(robot, ball, [_velocities({"joint1": 1.0, "joint4": 1.0}, 10)])
