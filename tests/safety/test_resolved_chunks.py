"""Cartesian chunks become the joint rows that were proven: these are executed, nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.bench.robot import bench_robot
from openral.hal.execution.executor import ChunkExecutor
from openral.hal.execution.tool_ik import ToolIK
from openral.manifest import RobotDescription, load_robot, shipped_robots
from openral.manifest.parts import EndEffector
from openral.ros.codec import types
from openral.safety import Kernel, Sphere
from tests.safety.helpers import NOW, M, at_home, chunk, composite, mobile_robot
from tests.safety.robot_motions import seen

Array = NDArray[np.float64]
TICK = 5_000_000
DT = 0.05
CHUNK = "openral_msgs/msg/ActionChunk"
TOOLS = [
    (name, effector.name)
    for name in shipped_robots()
    for effector in load_robot(name).end_effectors
]


def executed(kernel: Kernel, candidate: Any) -> tuple[Any, bytes, bytes]:
    """The verdict on a candidate, its bytes and those to be executed."""
    payload = types.encode(candidate)
    verdict = kernel.validate_bytes(payload, NOW)
    return verdict, payload, kernel.action(payload, verdict)


def wanted(ik: ToolIK, start: Array, mode: M, rows: Array, frame: str) -> list[Array]:
    """The tool's poses at the start and at every row."""
    poses = [ik.pose(start)]
    for row in rows:
        before, pose = poses[-1], poses[-1].copy()
        if mode is M.CARTESIAN_POSE:
            pose[:3, 3] = row[:3]
            pose[:3, :3] = Rotation.from_quat(row[3:]).as_matrix()
        else:
            step = row * (DT if mode is M.CARTESIAN_TWIST else 1.0)
            turn = Rotation.from_rotvec(step[3:]).as_matrix()
            inside = bool(frame)
            pose[:3, 3] += before[:3, :3] @ step[:3] if inside else step[:3]
            pose[:3, :3] = before[:3, :3] @ turn if inside else turn @ before[:3, :3]
        poses.append(pose)
    return poses


def between(before: Array, after: Array, share: float) -> Array:
    turn = Rotation.from_matrix(after[:3, :3] @ before[:3, :3].T).as_rotvec()
    out = np.eye(4)
    out[:3, :3] = Rotation.from_rotvec(turn * share).as_matrix() @ before[:3, :3]
    out[:3, 3] = before[:3, 3] + share * (after[:3, 3] - before[:3, 3])
    return out


def drawn(robot: RobotDescription, hand: EndEffector, mode: M, rng: Any) -> tuple[Array, Array]:
    """A start, with joints at their limits now and then, and a steady motion of the tool."""
    start = np.array(robot.home_position)
    low, high = np.array([joint.position_range for joint in robot.driven]).T
    ik = ToolIK(robot, hand)
    start[ik.columns] += rng.uniform(-0.9, 0.9, len(ik.columns))
    start = np.clip(start, low, high)
    way = rng.normal(size=6)
    way[:3] /= np.linalg.norm(way[:3])
    way[3:] *= rng.choice([0.0, 1.0]) / np.linalg.norm(way[3:])
    steps = np.tile(way * rng.choice([0.005, 0.02, 0.05, 0.1, 0.25]) * DT, (6, 1))
    if mode is M.CARTESIAN_TWIST:
        steps /= DT
    if mode is M.CARTESIAN_POSE:
        poses = wanted(ik, start, M.CARTESIAN_DELTA, steps, "")[1:]
        turns = [Rotation.from_matrix(p[:3, :3]).as_quat() for p in poses]
        steps = np.array([[*p[:3, 3], *q] for p, q in zip(poses, turns, strict=True)])
    return start, steps


def driven(robot: RobotDescription, action: Any, start: Array) -> list[tuple[float, Array]]:
    """What our driver tells the joints, and when."""
    executor = ChunkExecutor(robot, frozenset(robot.control_modes))
    executor.seed(start)
    executor.submit(action)
    path = [(0.0, start)]
    for tick in range(round(action.rows * action.dt * 1e9 / TICK)):
        q = path[-1][1]
        q = np.array(executor.tick(tick * TICK, (tick + 1) * TICK, q, 0 * q).positions)
        path.append(((tick + 1) * TICK * 1e-9, q))
    return path


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_the_tool_keeps_to_its_path_when_the_joint_rows_are_executed(name: str, tool: str) -> None:
    robot = load_robot(name)
    hand = next(e for e in robot.end_effectors if e.name == tool)
    ik, safety = ToolIK(robot, hand), robot.safety
    speed = np.array([joint.limits.velocity for joint in robot.driven if joint.limits])
    rng = np.random.default_rng(3)
    accepted = 0
    for number in range(1500):
        mode = (M.CARTESIAN_DELTA, M.CARTESIAN_TWIST, M.CARTESIAN_POSE)[number % 3]
        start, rows = drawn(robot, hand, mode, rng)
        frame = hand.link if mode is not M.CARTESIAN_POSE and rng.random() < 0.5 else ""
        candidate = chunk(mode, rows, dt=DT, name=tool, frame_id=frame)
        verdict, _, action = executed(seen(robot, start), candidate)
        if not verdict.accepted:
            continue
        assert verdict.rewritten and verdict.whole
        assert verdict.valid_ns == round(len(rows) * DT * 1e9)
        done = types.decode(CHUNK, action)
        assert seen(robot, start).validate(done, NOW).accepted
        path = driven(robot, done, start)
        moves = np.diff([q for _, q in path], axis=0)
        assert (np.abs(moves) <= speed * TICK * 1e-9 + 1e-9).all()
        poses = wanted(ik, start, mode, rows, frame)
        for seconds, q in path:
            row = min(int(seconds / DT), len(rows) - 1)
            asked = between(poses[row], poses[row + 1], seconds / DT - row)
            there = ik.pose(q)
            turn = Rotation.from_matrix(asked[:3, :3].T @ there[:3, :3]).magnitude()
            assert np.linalg.norm(asked[:3, 3] - there[:3, 3]) <= safety.cartesian_error_m
            assert turn <= safety.cartesian_error_rad + 1e-6
        accepted += 1
        if accepted == 30:
            break
    assert accepted >= 20


def test_head_timing_and_other_slots_are_kept() -> None:
    robot = mobile_robot()
    base = chunk(M.BODY_TWIST, np.tile([0.1, 0.0, 0.1], (4, 1)))
    hand = chunk(M.CARTESIAN_DELTA, np.tile([0.0, 0.004, 0.0, 0, 0, 0], (4, 1)), name="hand")
    hand.slots[0].name = robot.end_effectors[0].name
    grip = chunk(M.GRIPPER_BINARY, np.ones((4, 1)))
    whole: Any = composite([base, hand, grip])
    whole.sequence = 77
    whole.trace_id = np.arange(16, dtype=np.uint8)
    whole.header.frame_id = "an odd frame"
    whole.header.stamp.sec = 12
    verdict, payload, action = executed(at_home(robot), whole)
    assert verdict.accepted and verdict.rewritten, str(verdict)
    done: Any = types.decode(CHUNK, action)
    asked: Any = types.decode(CHUNK, payload)
    for field in ("header", "sequence", "control_mode", "dt", "rows"):
        assert getattr(done, field) == getattr(asked, field)
    assert bytes(done.trace_id) == bytes(asked.trace_id)
    for kept in (0, 2):
        assert types.encode(done.slots[kept]) == types.encode(asked.slots[kept])
    arm = done.slots[1]
    assert arm.control_mode == M.JOINT_VELOCITY.byte
    assert list(arm.joint_names) == [j.name for j in robot.driven if j.role == "arm"]
    assert arm.width == len(arm.joint_names) and arm.data.size == 4 * arm.width


def test_a_pose_becomes_positions_and_steps_become_velocities() -> None:
    robot = bench_robot()
    start = np.array(robot.home_position)
    pose = ToolIK(robot, robot.end_effectors[0]).pose(start)
    row = [*pose[:3, 3], *Rotation.from_matrix(pose[:3, :3]).as_quat()]
    for mode, rows, becomes in (
        (M.CARTESIAN_POSE, [row] * 3, M.JOINT_TRAJECTORY),
        (M.CARTESIAN_DELTA, np.zeros((3, 6)), M.JOINT_VELOCITY),
        (M.CARTESIAN_TWIST, np.zeros((3, 6)), M.JOINT_VELOCITY),
    ):
        verdict, _, action = executed(at_home(robot), chunk(mode, rows))
        assert verdict.accepted, str(verdict)
        done: Any = types.decode(CHUNK, action)
        assert (done.control_mode, done.slots[0].control_mode) == (becomes.byte, becomes.byte)


@pytest.mark.parametrize("mode", [M.JOINT_POSITION, M.JOINT_TRAJECTORY])
def test_joint_chunks_are_executed_as_they_came(mode: M) -> None:
    robot = bench_robot()
    verdict, payload, action = executed(
        at_home(robot), chunk(mode, np.tile(robot.home_position, (3, 1)))
    )
    assert verdict.accepted and not verdict.rewritten
    assert action is payload


def test_what_is_refused_is_not_rewritten_and_out_of_reach_is_unsolved() -> None:
    robot = bench_robot(cartesian_step_m=2.0, ee_speed_m_s=100.0)
    far = chunk(M.CARTESIAN_DELTA, [[1.5, 0, 0, 0, 0, 0]])
    verdict, payload, action = executed(at_home(robot), far)
    assert (verdict.status, verdict.row, verdict.latched) == ("unsolved", 0, False)
    assert not verdict.accepted and not verdict.rewritten and action is payload
    assert "keeps the tool on its path on the way to row 0" in str(verdict)
    near = Sphere("ball", tuple(ToolIK(robot, robot.end_effectors[0]).pose(
        np.array(robot.home_position))[:3, 3] + [0.1, 0, 0]), 0.03)  # fmt: skip
    steps = chunk(M.CARTESIAN_DELTA, np.tile([0.01, 0, 0, 0, 0, 0], (10, 1)))
    verdict, payload, action = executed(at_home(robot, [near]), steps)
    assert verdict.status == "world_collision" and action is payload


@given(
    st.text(max_size=12),
    st.integers(0, 2**64 - 1),
    st.binary(min_size=16, max_size=16),
    st.integers(1, 40),
    st.floats(0.02, 0.2),
    st.permutations([0, 1, 2]),
)
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_a_well_formed_message(
    frame: str, sequence: int, trace: bytes, rows: int, dt: float, order: list[int]
) -> None:
    robot = mobile_robot()
    slots = [
        chunk(M.CARTESIAN_TWIST, np.tile([0.0, 0.001, 0, 0, 0, 0], (rows, 1))),
        chunk(M.GRIPPER_POSITION, np.full((rows, 1), 0.02)),
        chunk(M.BODY_TWIST, np.zeros((rows, 3)), name=""),
    ]
    whole: Any = composite([slots[i] for i in order], dt=dt)
    whole.header.frame_id = frame.replace("\0", "")
    whole.sequence, whole.trace_id = sequence, np.frombuffer(trace, np.uint8)
    verdict, _, action = executed(at_home(robot), whole)
    assert verdict.accepted, str(verdict)
    assert types.encode(types.decode(CHUNK, action)) == action
    assert seen(robot, robot.home_position).validate_bytes(action, NOW).accepted
