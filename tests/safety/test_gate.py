"""When the kernel answers at all: freshness, the latch, recovery and warn-only."""

from __future__ import annotations

import time

import numpy as np
import pytest

from openral.bench.robot import bench_robot
from openral.errors import ConfigError
from openral.safety import Box, Gate, Kernel, Sphere, VoxelGrid
from tests.safety.helpers import HOME_Q, NOW, M, at_home, chunk, mobile_robot

HOLD = chunk(M.JOINT_POSITION, np.tile(HOME_Q, (3, 1)))
SECOND = 1_000_000_000
EMPTY = VoxelGrid(np.zeros((4, 4, 4), bool), (2.0, 2.0, 2.0), 0.1)


def test_a_state_that_is_missing_old_or_incomplete_drops_without_a_latch() -> None:
    kernel = Kernel(bench_robot())
    assert kernel.validate(HOLD, NOW).status == "state_unavailable"
    names = bench_robot().joint_names
    kernel.set_state(dict(zip(names[:-1], HOME_Q, strict=False)), stamp_ns=NOW)
    assert kernel.validate(HOLD, NOW).status == "state_unavailable"
    kernel.set_state({**dict(zip(names, HOME_Q, strict=True)), "stranger": 3.0}, stamp_ns=NOW)
    assert kernel.validate(HOLD, NOW).accepted
    verdict = kernel.validate(HOLD, NOW + SECOND)
    assert verdict.status == "state_unavailable"
    assert not verdict.latched and kernel.gate is Gate.READY
    assert kernel.validate(HOLD, NOW + 1).accepted  # resumes by itself


def test_required_inputs_that_never_came_and_feeds_that_died_are_unavailable() -> None:
    kernel = at_home(bench_robot(), requires_voxels=True)
    assert kernel.validate(HOLD, NOW).status == "voxel_unavailable"
    kernel.set_voxels(EMPTY, NOW)
    assert kernel.validate(HOLD, NOW).accepted
    kernel.set_state(HOME_Q, stamp_ns=NOW + SECOND)
    kernel.set_world([], NOW + SECOND)
    kernel.set_voxels(EMPTY, NOW)  # the cached map, sent again
    assert kernel.validate(HOLD, NOW + SECOND).status == "voxel_unavailable"
    kernel = Kernel(bench_robot(requires_world=True))
    kernel.set_state(HOME_Q, stamp_ns=NOW)
    assert kernel.validate(HOLD, NOW).status == "world_unavailable"
    kernel.set_world([], NOW - 2 * SECOND)
    assert kernel.validate(HOLD, NOW).status == "world_unavailable"


def test_a_clock_set_back_makes_data_stale_never_fresh() -> None:
    kernel = at_home(bench_robot())
    assert kernel.validate(HOLD, NOW - SECOND).status == "state_unavailable"
    kernel.set_state(HOME_Q, stamp_ns=NOW - SECOND)
    assert kernel.validate(HOLD, NOW - SECOND).status == "world_unavailable"


def test_a_clock_that_stands_still_drops() -> None:
    kernel = at_home(bench_robot(), stall_s=0.05)
    assert kernel.validate(HOLD, NOW).accepted
    time.sleep(0.2)
    verdict = kernel.validate(HOLD, NOW)
    assert verdict.status == "clock_stalled" and not verdict.latched
    assert kernel.validate(HOLD, NOW + 1).accepted


def test_more_than_fits_is_an_overflow_that_drops() -> None:
    kernel = at_home(bench_robot(), [Sphere(f"s{i}", (5.0, 0.0, 0.0), 0.1) for i in range(600)])
    verdict = kernel.validate(HOLD, NOW)
    assert verdict.status == "world_overflow" and not verdict.latched
    kernel = at_home(bench_robot())
    kernel.set_voxels(VoxelGrid(np.zeros((300, 300, 300), bool), (0.0, 0.0, 0.0), 0.1), NOW)
    assert kernel.validate(HOLD, NOW).status == "voxel_overflow"


def test_a_refused_world_does_not_leave_the_old_one_in_force() -> None:
    kernel = at_home(bench_robot())
    with pytest.raises(ConfigError, match="'ball'"):
        kernel.set_world([Sphere("ball", (1.0, 0.0, 0.0), float("nan"))], NOW)
    assert kernel.validate(HOLD, NOW).status == "world_unavailable"


def test_the_stop_latches_until_reset() -> None:
    kernel = at_home(bench_robot())
    kernel.estop("operator")
    verdict = kernel.validate(HOLD, NOW)
    assert verdict.status == "estopped" and verdict.stopped and not verdict.latched
    assert kernel.estop_reason == "operator"
    kernel.reset()
    assert kernel.validate(HOLD, NOW).accepted
    wild = chunk(M.JOINT_POSITION, HOME_Q + 3)
    assert kernel.validate(wild, NOW).latched
    assert kernel.validate(HOLD, NOW).status == "estopped"
    with pytest.raises(ConfigError, match="READY"):
        at_home(bench_robot()).recover()


def test_recovery_lets_out_slowly_and_never_further_in() -> None:
    robot = bench_robot(tracking_error=0.001)
    free = Kernel(robot)
    free.set_state(HOME_Q, stamp_ns=NOW)
    clear = 0.0
    ball = Sphere("ball", (0.85, 0.0, 0.62), 0.03)
    for x in np.arange(0.85, 0.25, -0.001):  # push a ball to 4 mm from the hand
        ball = Sphere("ball", (float(x), 0.0, 0.62), 0.03)
        free.set_world([ball], NOW)
        clear, _ = free.clearance(HOME_Q)
        if clear < 0.004:
            break
    assert 0 < clear < 0.005
    kernel = at_home(robot, [ball])
    assert kernel.validate(HOLD, NOW).status == "world_collision"
    assert kernel.validate(HOLD, NOW).status == "estopped"
    kernel.recover()
    assert kernel.gate is Gate.RECOVERING
    assert kernel.validate(HOLD, NOW).status == "recovery"  # does not lead away

    def sway(step: float) -> object:
        rows = np.tile(HOME_Q, (10, 1))
        rows[:, 1] += step * np.arange(1, 11)
        return chunk(M.JOINT_POSITION, rows)

    fast = kernel.validate(sway(-0.05), NOW)
    assert fast.status == "velocity_limit"
    kernel.recover()
    away = kernel.validate(sway(-0.002), NOW)
    assert away.accepted, str(away)
    into = kernel.validate(sway(0.002), NOW)
    assert into.status == "world_collision"
    kernel.recover()
    kernel.set_state(HOME_Q - [0, 0.2, 0, 0, 0, 0, 0, 0], stamp_ns=NOW)
    outside = chunk(M.JOINT_POSITION, HOME_Q - [0, 0.25, 0, 0, 0, 0, 0, 0], dt=0.1)
    assert kernel.validate(outside, NOW).accepted
    assert kernel.gate is Gate.READY


def test_warn_only_is_for_simulation_loud_and_marked() -> None:
    with pytest.raises(ConfigError, match="simulation"):
        Kernel(bench_robot(), warn_only=True)
    with pytest.warns(RuntimeWarning, match="only warns"):
        kernel = at_home(bench_robot(), warn_only=True, simulated=True)
    rows = np.tile(HOME_Q, (2, 1))
    rows[:, 0] += 2
    verdict = kernel.validate(chunk(M.JOINT_POSITION, rows), NOW)
    assert verdict.accepted and verdict.warn_only and verdict.status == "velocity_limit"
    assert str(verdict).startswith("WARN ONLY")
    rows[0, 0] = np.nan
    assert not kernel.validate(chunk(M.JOINT_POSITION, rows), NOW).accepted
    assert kernel.validate(HOLD, NOW).status == "estopped"


def test_a_mobile_robot_needs_to_know_where_it_is_and_where_it_was() -> None:
    robot = mobile_robot()
    kernel = Kernel(robot)
    kernel.set_state(robot.home_position, stamp_ns=NOW)
    wall = Box("wall", (0.9, 0.0, 0.5), (0.1, 2.0, 0.5))
    kernel.set_world([wall], NOW)
    hold = chunk(M.BODY_TWIST, np.zeros((2, 3)))
    assert kernel.validate(hold, NOW).status == "base_unavailable"
    kernel.set_base((0.0, 0.0, 0.0), NOW)
    first = kernel.validate(hold, NOW)
    assert first.accepted, str(first)
    # The wall was seen before the base drove towards it: what was seen is no longer where it was.
    later = NOW + 50_000_000
    kernel.set_state(robot.home_position, stamp_ns=later)
    kernel.set_base((0.5, 0.0, 0.0), later)
    assert kernel.validate(hold, later).status == "world_collision"


def test_python_and_c_agree_on_every_status_name() -> None:
    kernel = at_home(bench_robot())
    verdict = kernel.validate_bytes(b"", NOW)
    assert verdict.status == "malformed"
    assert verdict.latched
    assert repr(verdict).startswith("<Verdict refused")
