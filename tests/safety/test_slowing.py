"""Motion that comes close to the world is slowed before it is refused, and keeps its path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from openral.bench.robot import bench_robot
from openral.hal.execution.tool_ik import ToolIK
from openral.ros.codec import types
from openral.safety import Box, Kernel
from tests.safety.helpers import NOW, M, at_home, chunk, composite, mobile_robot

CHUNK = "openral_msgs/msg/ActionChunk"
ROWS = 10


def wall(x: float) -> Box:
    return Box("wall", (x + 0.05, 0.0, 0.5), (0.05, 3.0, 0.8))


def drive(speed: float, rows: int = ROWS) -> Any:
    return chunk(M.BODY_TWIST, np.tile([speed, 0.0, 0.0], (rows, 1)))


def executed(kernel: Kernel, candidate: Any) -> tuple[Any, Any]:
    payload = types.encode(candidate)
    verdict = kernel.validate_bytes(payload, NOW)
    return verdict, types.decode(CHUNK, kernel.action(payload, verdict))


def front() -> float:
    """Where the mobile robot's foremost surface is."""
    robot = mobile_robot()
    kernel = at_home(robot, [wall(2.0)])
    return 2.0 - kernel.clearance(robot.home_position, 3.0)[0]


def test_the_closer_the_slower_and_then_not_at_all() -> None:
    robot = mobile_robot(slow_distance_m=0.3, tracking_error=0.0)
    reach = front() + 0.05 * ROWS * 0.2 + 0.2 * 0.1  # the way and the stop after it
    factors = []
    for gap in np.linspace(0.4, -0.05, 30):
        verdict, _ = executed(at_home(robot, [wall(reach + gap)]), drive(0.2))
        factors.append(verdict.speed_factor if verdict.accepted else 0.0)
    assert factors[0] == 1.0 and factors[-1] == 0.0
    assert factors == sorted(factors, reverse=True)
    assert set(np.round(factors, 3)) >= {1.0, 0.812, 0.625, 0.438, 0.25, 0.0}


def test_a_slowed_chunk_keeps_its_path() -> None:
    robot = mobile_robot(slow_distance_m=0.3, tracking_error=0.0)
    arm = [joint.name for joint in robot.driven if joint.role == "arm"]
    home = np.array([robot.home[name] for name in arm])
    half = len(arm) // 2
    parts = [
        drive(0.2),
        chunk(M.JOINT_VELOCITY, np.full((ROWS, half), 0.05), joint_names=arm[:half]),
        chunk(M.JOINT_POSITION, np.tile(home[half:], (ROWS, 1)), joint_names=arm[half:]),
        chunk(M.GRIPPER_BINARY, np.ones((ROWS, 1))),
    ]
    asked: Any = composite(parts)
    for gap in (0.25, 0.15, 0.1):
        verdict, done = executed(at_home(robot, [wall(front() + gap + 0.12)]), asked)
        assert verdict.accepted and verdict.rewritten, str(verdict)
        factor = verdict.speed_factor
        assert 0.25 <= factor < 1.0
        assert "% of its speed, because link" in str(verdict) and "'wall'" in str(verdict)
        assert done.dt == pytest.approx(asked.dt / factor)
        assert verdict.valid_ns == pytest.approx(ROWS * done.dt * 1e9, abs=2)
        for before, after, rate in zip(asked.slots, done.slots, (1, 1, 0, 0), strict=True):
            scale = factor if rate else 1.0
            assert np.allclose(np.array(after.data), np.array(before.data) * scale)


def test_a_cartesian_chunk_is_slowed_with_its_joint_rows() -> None:
    robot = bench_robot(slow_distance_m=0.25)
    tool = ToolIK(robot, robot.end_effectors[0]).pose(np.array(robot.home_position))[0, 3]
    asked = chunk(M.CARTESIAN_TWIST, np.tile([0.1, 0, 0, 0, 0, 0], (10, 1)))
    far, fast = executed(at_home(robot), asked)
    near, slow = executed(at_home(robot, [wall(float(tool) + 0.3)]), asked)
    assert far.speed_factor == 1.0 and 0.25 <= near.speed_factor < 1.0, str(near)
    one, two = (np.array(c.slots[0].data) * c.dt for c in (fast, slow))
    assert np.allclose(one, two)


def test_what_does_not_come_closer_is_not_slowed() -> None:
    robot = bench_robot(slow_distance_m=0.3)
    home = np.array(robot.home_position)
    beside = Box("table", (0.0, 0.0, -0.3), (0.3, 0.3, 0.1))
    lift = np.tile(home, (10, 1))
    lift[:, 1] -= 0.02 * np.arange(1, 11)
    kernel = at_home(robot, [beside])
    assert kernel.clearance(home)[0] < 0.3
    for rows in (np.tile(home, (10, 1)), lift):
        verdict = kernel.validate(chunk(M.JOINT_POSITION, rows), NOW)
        assert verdict.accepted and verdict.speed_factor == 1.0, str(verdict)
        assert verdict.link == "" and verdict.object == ""


def test_an_arm_that_comes_closer_is_not_let_go_again() -> None:
    """Also where it is nearer than its tracking error makes certain."""
    robot = bench_robot(slow_distance_m=0.1)
    home = np.array(robot.home_position)
    rows = np.tile(home, (3, 1))
    rows[:, 1] += 0.01 * np.arange(1, 4)
    tip = 2.0 - at_home(robot, [wall(2.0)]).clearance(home, 3.0)[0]
    factors = []
    for gap in np.linspace(0.25, 0.02, 40):
        kernel = at_home(robot, [wall(tip + float(gap))])
        verdict = kernel.validate(chunk(M.JOINT_POSITION, rows), NOW)
        factors.append(verdict.speed_factor if verdict.accepted else 0.0)
    assert factors[0] == 1.0 and factors[-1] == 0.0
    assert 0.25 in factors
    assert factors == sorted(factors, reverse=True)


def test_slowing_is_off_unless_asked_for_and_never_excuses_a_limit() -> None:
    close = [wall(front() + 0.2)]
    off, done = executed(at_home(mobile_robot(tracking_error=0.0), close), drive(0.2))
    assert off.accepted and off.speed_factor == 1.0 and not off.rewritten
    assert done.dt == 0.05
    robot = mobile_robot(slow_distance_m=0.5)
    assert at_home(robot, close).validate(drive(9.0), NOW).status == "base_speed"
    fast = chunk(M.JOINT_VELOCITY, np.full((3, 1), 2.5), joint_names=["joint1"])
    assert at_home(robot, close).validate(fast, NOW).status == "velocity_limit"
    with pytest.raises(ValidationError):
        bench_robot(slow_factor=0.0)


@pytest.mark.parametrize("heading", [0.0, 1.0, 2.5, -2.0])
def test_a_base_driven_at_a_wall_is_slowed_then_refused_before_it_touches(heading: float) -> None:
    """Closed loop: what is accepted is driven, then the next chunk is asked for."""
    robot = mobile_robot(slow_distance_m=0.2, tracking_error=0.0)
    forward, left = np.cos(heading), np.sin(heading)
    at, speed = 0.0, 0.0
    names = robot.joint_names
    factors = []
    for _ in range(400):
        away = 2.5 - at
        # In the base's frame the wall stands across its way.
        block = Box("wall", (forward * away, left * away, 0.5), (0.05, 0.05, 1.0),
                    (0.0, 0.0, float(np.sin(heading / 2)), float(np.cos(heading / 2))))  # fmt: skip
        kernel = at_home(robot, [block])
        moving = dict.fromkeys(names, 0.0)
        moving |= {"base_x": speed * forward, "base_y": speed * left}
        kernel.set_state(robot.home, moving, NOW)
        rows = np.tile([0.8 * forward, 0.8 * left, 0.0], (4, 1))
        verdict, done = executed(kernel, chunk(M.BODY_TWIST, rows))
        if not verdict.accepted:
            assert verdict.status == "world_collision"
            break
        factors.append(verdict.speed_factor)
        speed = float(np.hypot(*np.array(done.slots[0].data)[:2]))
        at += speed * done.dt * done.rows
    else:
        raise AssertionError("it was never refused")
    braked = at + speed * max(robot.safety.stop_s, speed / 2)
    home = np.array(robot.home_position)
    block = Box("wall", (forward * (2.5 - braked), left * (2.5 - braked), 0.5), (0.05, 0.05, 1.0),
                (0.0, 0.0, float(np.sin(heading / 2)), float(np.cos(heading / 2))))  # fmt: skip
    assert at_home(robot, [block]).clearance(home)[0] >= robot.safety.margin_m
    assert factors[0] == 1.0 and min(factors) < 1.0
    assert at > 1.0  # free space is not blocked


def test_a_base_found_moving_must_be_able_to_brake() -> None:
    robot = mobile_robot(tracking_error=0.0)
    ahead = [wall(front() + 0.3)]
    for velocity, accepted in ((0.0, True), (0.5, True), (0.9, False), (-0.9, True)):
        kernel = at_home(robot, ahead)
        moving = dict.fromkeys(robot.joint_names, 0.0) | {"base_x": velocity}
        kernel.set_state(robot.home, moving, NOW)
        away = chunk(M.BODY_TWIST, np.tile([-0.2, 0.0, 0.0], (4, 1)))
        still = chunk(M.JOINT_POSITION, [[robot.home["joint1"]]] * 3, joint_names=["joint1"])
        for candidate in (away, still):
            kernel.reset()
            assert kernel.validate(candidate, NOW).accepted is accepted, (velocity, candidate)


def test_how_old_the_odometry_is_counts() -> None:
    robot = mobile_robot(tracking_error=0.0)
    still = chunk(M.BODY_TWIST, np.zeros((2, 3)))
    # It may go on for `stop_s` (5 cm), and a stop then takes 12.5 cm.
    for age, accepted in ((0, True), (80_000_000, False)):
        kernel = Kernel(robot)
        kernel.set_world([wall(front() + 0.2)], NOW - age)
        kernel.set_base((0.0, 0.0, 0.0), NOW - age)
        moving = dict.fromkeys(robot.joint_names, 0.0) | {"base_x": 0.5}
        kernel.set_state(robot.home, moving, NOW)
        assert kernel.validate(still, NOW).accepted is accepted


def test_a_differential_base_does_not_move_sideways() -> None:
    data = mobile_robot().model_dump()
    robot = type(mobile_robot()).model_validate(data | {"base_drive": "differential"})
    arc = chunk(M.BODY_TWIST, np.tile([0.3, 0.0, 0.4], (10, 1)))
    assert at_home(robot).validate(arc, NOW).accepted
    verdict = at_home(robot).validate(chunk(M.BODY_TWIST, [[0.3, 0.01, 0.0]]), NOW)
    assert (verdict.status, verdict.value, verdict.limit) == ("base_speed", 0.01, 0.0)
    assert at_home(robot, [wall(front() + 0.1)]).validate(arc, NOW).status == "world_collision"
