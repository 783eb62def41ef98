"""Mistakes that safety gates have made elsewhere, one test each. Those of nodes live with them."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openral.bench.robot import bench_robot
from openral.errors import ConfigError
from openral.hal.execution.tool_ik import ToolIK
from openral.manifest.kinematics import Kinematics
from openral.manifest.library import load_robot, shipped_robots
from openral.ros.codec import types
from openral.ros.codec.types import registry
from openral.safety import Box, Gate, Kernel, Sphere, VoxelGrid
from tests.safety.drawing import random_arm
from tests.safety.helpers import HOME_Q, NOW, M, at_home, chunk, hold_rows, mobile_robot

ARM = [f"joint{i + 1}" for i in range(7)]


def hold(rows: int = 16) -> np.ndarray:
    return np.tile(HOME_Q, (rows, 1))


def test_01_row_stride_is_the_chunks_own() -> None:
    kernel = at_home(bench_robot())
    # Two columns only: a fast row must not hide behind a wider stride.
    rows = np.array([[0.0, 0.0], [9.0, 0.0]])
    slot = {"joint_names": ARM[:2]}
    verdict = kernel.validate(chunk(M.JOINT_VELOCITY, rows, **slot), NOW)
    assert verdict.status == "velocity_limit" and verdict.row == 1
    kernel.reset()
    message = chunk(M.JOINT_VELOCITY, rows, **slot)
    message.slots[0].width = 8  # claims more than it carries
    assert kernel.validate(message, NOW).status == "wrong_width"


def test_02_trajectories_and_deltas_are_checked_here_not_by_someone_else() -> None:
    kernel = at_home(bench_robot())
    rows = hold(2)
    rows[1, 2] = 99
    assert kernel.validate(chunk(M.JOINT_TRAJECTORY, rows), NOW).status == "position_limit"
    kernel.reset()
    step = chunk(M.CARTESIAN_DELTA, [[9.0, 0, 0, 0, 0, 0]])
    assert kernel.validate(step, NOW).status == "step"


def test_03_speed_between_position_rows_and_from_the_measured_state() -> None:
    kernel = at_home(bench_robot())
    rows = hold(2)
    rows[0, 0] = 0.1
    rows[1, 0] = 2.8
    verdict = kernel.validate(chunk(M.JOINT_POSITION, rows), NOW)
    assert verdict.status == "velocity_limit" and verdict.row == 1 and verdict.joint == "joint1"
    kernel.reset()
    rows[0, 0] = 2.8
    verdict = kernel.validate(chunk(M.JOINT_POSITION, rows), NOW)
    assert verdict.status == "velocity_limit" and verdict.row == 0


def test_04_nothing_tunnels_between_two_clear_rows() -> None:
    robot = bench_robot(tracking_error=0.0, ee_speed_m_s=50.0, ee_angular_rad_s=50.0)
    kernel = at_home(robot)
    swing = HOME_Q.copy()
    swing[0] = 0.9
    thin = Box("plate", (0.36, 0.174, 0.6), (0.1, 0.001, 0.3), (0.0, 0.0, 0.2231, 0.9748))
    kernel.set_world([thin], NOW)
    ends = [kernel.clearance(q)[0] for q in (HOME_Q, swing)]
    assert min(ends) > 0.018
    middle = HOME_Q.copy()
    middle[0] = 0.45
    assert kernel.clearance(middle)[0] < 0
    assert (
        kernel.validate(chunk(M.JOINT_POSITION, [swing], dt=0.6), NOW).status == "world_collision"
    )


def test_05_nan_is_a_refusal_everywhere() -> None:
    kernel = at_home(bench_robot())
    rows = hold(3)
    rows[2, 4] = np.nan
    verdict = kernel.validate(chunk(M.JOINT_POSITION, rows), NOW)
    assert verdict.status == "not_finite" and verdict.row == 2
    kernel.reset()
    assert kernel.validate(chunk(M.JOINT_POSITION, hold(), dt=np.inf), NOW).status == "not_finite"
    kernel.reset()
    for bad in (np.nan, np.inf, -1.0):
        with pytest.raises(ConfigError, match="ball"):
            kernel.set_world([Sphere("ball", (0.5, 0.0, 0.5), bad)], NOW)
        assert kernel.validate(chunk(M.JOINT_POSITION, hold()), NOW).status == "world_unavailable"
    kernel.set_world([], NOW)
    kernel.set_state(np.where(np.arange(8) == 3, np.nan, HOME_Q), stamp_ns=NOW)
    assert kernel.validate(chunk(M.JOINT_POSITION, hold()), NOW).status == "state_unavailable"


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 2**32 - 1))
def test_06_standing_still_is_accepted_in_every_mode_from_any_valid_state(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_arm(rng)
    kernel = Kernel(robot)
    limits = np.array([j.position_range for j in robot.driven])
    q = rng.uniform(limits[:, 0], limits[:, 1])
    kernel.set_state(q, stamp_ns=NOW)
    _world, own = kernel.clearance(q)
    if own < robot.safety.self_margin_m + 1e-4:
        return
    # An obstacle just outside the margin must not matter to a robot that stands still.
    for mode, width in ((M.JOINT_VELOCITY, len(q)), (M.JOINT_TORQUE, len(q)),
                        (M.CARTESIAN_DELTA, 6), (M.CARTESIAN_TWIST, 6)):  # fmt: skip
        verdict = kernel.validate(chunk(mode, np.zeros((16, width))), NOW)
        assert verdict.accepted, str(verdict)
    for mode in (M.JOINT_POSITION, M.JOINT_TRAJECTORY):
        assert kernel.validate(chunk(mode, np.tile(q, (64, 1))), NOW).accepted


def test_07_what_inverse_kinematics_found_is_what_is_proven_and_executed() -> None:
    # 16 cm of tool motion: its end by independent kinematics, its elbow against a ball.
    robot = bench_robot(tracking_error=0.0)
    rows = np.tile([0.0, 0.008, 0.0, 0.0, 0.0, 0.0], (20, 1))
    payload = types.encode(chunk(M.CARTESIAN_DELTA, rows))
    kernel = at_home(robot)
    verdict = kernel.validate_bytes(payload, NOW)
    assert verdict.accepted, str(verdict)
    done = types.decode("openral_msgs/msg/ActionChunk", kernel.action(payload, verdict)).slots[0]
    travel = np.reshape(done.data, (20, done.width)).sum(axis=0) * 0.05
    start = np.array(robot.home_position)
    end = start + [dict(zip(done.joint_names, travel, strict=True)).get(n, 0.0)
                   for n in robot.joint_names]  # fmt: skip
    kinematics = Kinematics(robot)
    tool = ToolIK(robot, robot.end_effectors[0])
    assert tool.pose(end)[:3, 3] - tool.pose(start)[:3, 3] == pytest.approx([0, 0.16, 0], abs=2e-3)
    elbow = kinematics.links.index("link4")
    places = [kinematics.poses(q)[elbow][:3, 3] for q in (start, end)]
    away = places[1] + 1.5 * (places[1] - places[0])
    assert np.linalg.norm(places[1] - places[0]) > 0.01
    blocked = at_home(robot, [Sphere("ball", tuple(map(float, away)), 0.05)])
    assert blocked.validate_bytes(payload, NOW).status == "world_collision"


@pytest.mark.parametrize("robot_id", shipped_robots())
def test_08_every_model_is_clear_at_home_and_covered_from_base_to_hand(robot_id: str) -> None:
    robot = load_robot(robot_id)
    kernel = at_home(robot)
    for mode in robot.control_modes:
        for still in hold_rows(robot, mode):
            verdict = kernel.validate(still, NOW)
            assert verdict.accepted, f"{robot_id} {mode}: {verdict}"
    for joint in robot.joints:
        if joint.moves and joint.role not in ("base", "gripper", "hand"):
            rigid = {joint.child}
            for other in robot.joints:
                if not other.moves and other.parent in rigid:
                    rigid.add(other.child)
            heavy = sum(robot.link(name).mass for name in rigid) > 0.2
            assert not heavy or any(robot.link(name).capsules for name in rigid), joint.child


def test_09_a_mobile_robot_is_checked_in_its_own_frame() -> None:
    robot = mobile_robot()
    kernel = Kernel(robot)
    away = {**robot.home, "base_x": 7.0, "base_y": -3.0, "base_yaw": 2.0}
    kernel.set_state(away, stamp_ns=NOW)
    kernel.set_base((7.0, -3.0, 2.0), NOW)
    cells = np.zeros((40, 40, 40), bool)
    cells[24:26, :, 14:] = True  # a wall 0.6 m in front of the base, in its frame
    kernel.set_voxels(VoxelGrid(cells, (0.0, -0.5, 0.0), 0.025), NOW)
    ahead = chunk(M.BODY_TWIST, np.tile([0.3, 0.0, 0.0], (20, 1)))
    assert kernel.validate(ahead, NOW).status == "voxel_collision"
    kernel.reset()
    back = chunk(M.BODY_TWIST, np.tile([-0.3, 0.0, 0.0], (20, 1)))
    assert kernel.validate(back, NOW).accepted
    names = [j.name for j in robot.driven if j.role == "arm"]
    reach = np.tile([robot.home[n] for n in names], (40, 1))
    reach[:, 1] += 0.03 * np.arange(1, 41)
    verdict = kernel.validate(chunk(M.JOINT_POSITION, reach, joint_names=names), NOW)
    assert verdict.status == "voxel_collision"


def test_10_a_restamped_message_does_not_make_an_old_map_new() -> None:
    kernel = at_home(bench_robot())
    grid = VoxelGrid(np.zeros((4, 4, 4), bool), (2.0, 2.0, 2.0), 0.1)
    kernel.set_voxels(grid, NOW)
    later = NOW + 10**9
    kernel.set_state(HOME_Q, stamp_ns=later)
    kernel.set_world([], later)
    kernel.set_voxels(grid, NOW)  # arrives now, was measured then
    assert kernel.validate(chunk(M.JOINT_POSITION, hold()), later).status == "voxel_unavailable"


def test_11_a_stop_is_a_state_that_everything_after_it_meets() -> None:
    kernel = at_home(bench_robot())
    kernel.estop("button")
    for mode in bench_robot().control_modes:
        for still in hold_rows(bench_robot(), mode):
            assert kernel.validate(still, NOW).status == "estopped"
    assert kernel.validate(chunk(M.GRIPPER_BINARY, [[1.0]]), NOW).status == "estopped"
    kernel.reset()
    assert kernel.validate(chunk(M.JOINT_POSITION, hold()), NOW).accepted


@pytest.mark.parametrize("byte", [12, 13, 77, 255])
def test_12_an_unknown_mode_byte_is_not_joint_position(byte: int) -> None:
    kernel = at_home(bench_robot())
    message = chunk(M.JOINT_POSITION, hold())
    message.slots[0].control_mode = byte
    message.control_mode = M.COMPOSITE_MODE.byte
    assert kernel.validate(message, NOW).status == "unknown_mode"
    kernel.reset()
    message.slots[0].control_mode = 0
    message.control_mode = byte
    assert kernel.validate(message, NOW).status in {"unknown_mode", "malformed", "accepted"}
    if byte > 12:
        kernel.reset()
        assert kernel.validate(message, NOW).status == "unknown_mode"


def test_13_there_is_a_way_out_of_the_margin() -> None:
    robot = bench_robot()
    ball = Sphere("ball", (0.0, 0.0, 0.0), 0.03)
    for x in np.arange(0.85, 0.25, -0.001):
        ball = Sphere("ball", (float(x), 0.0, 0.62), 0.03)
        kernel = at_home(robot, [ball])
        if kernel.clearance(HOME_Q)[0] < 0.003:
            break
    assert not kernel.validate(chunk(M.JOINT_POSITION, hold()), NOW).accepted
    kernel.recover()
    back = hold(10)
    back[:, 1] -= 0.002 * np.arange(1, 11)
    assert kernel.validate(chunk(M.JOINT_POSITION, back), NOW).accepted
    assert kernel.gate is Gate.RECOVERING


def test_14_joints_that_cannot_be_matched_are_refused() -> None:
    kernel = at_home(bench_robot())
    for mode in (M.JOINT_POSITION, M.JOINT_VELOCITY, M.JOINT_TORQUE):
        message = chunk(mode, np.zeros((2, 2)), joint_names=["joint1", "elbow"])
        verdict = kernel.validate(message, NOW)
        assert verdict.status == "unknown_joint" and verdict.object == "elbow"
        assert "'elbow'" in str(verdict)
        kernel.reset()
    assert kernel.validate(chunk(M.JOINT_VELOCITY, np.zeros((2, 5))), NOW).status == "wrong_width"
    kernel.reset()
    for mode in (M.CARTESIAN_DELTA, M.CARTESIAN_TWIST):
        delta = chunk(mode, np.zeros((2, 6)), name="left_hand")
        assert kernel.validate(delta, NOW).status == "unknown_slot"
        kernel.reset()
        odd = chunk(mode, np.zeros((2, 6)), frame_id="camera")
        assert kernel.validate(odd, NOW).status == "unknown_frame"
        kernel.reset()


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.binary(max_size=40), st.integers(0, 400), st.integers(0, 255))
def test_bytes_never_crash_the_parser(junk: bytes, at: int, value: int) -> None:
    kernel = at_home(bench_robot())
    assert not kernel.validate_bytes(junk, NOW).accepted
    kernel.reset()
    data = bytearray(registry.encode(chunk(M.JOINT_POSITION, hold(2))))
    data[at % len(data)] = value
    verdict = kernel.validate_bytes(bytes(data), NOW)
    assert verdict.accepted or verdict.status
    huge = bytes(data[:-8]) + struct.pack("<d", 1e300)
    kernel.reset()
    assert not kernel.validate_bytes(huge, NOW).accepted
