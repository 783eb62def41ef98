"""Chunk execution, the same in every HAL: row by row, replaced, held, stopped, never a jump."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from openral.errors import CapabilityMismatch, ConfigError, SafetyViolation
from openral.graph.states import HalStatus
from openral.hal.execution.executor import ChunkExecutor, Command
from openral.manifest import ControlMode, load_robot
from openral.manifest.joint import JointRole
from tests.hal.chunks import chunk, joint_chunk, slot

PANDA = load_robot("franka_panda")
MOBILE = load_robot("panda_mobile")
HOME = np.array(PANDA.home_position)
TICK = 10_000_000
SPEED = np.array([joint.limits.velocity for joint in PANDA.driven if joint.limits])


class Perfect:
    """A robot whose joints are where they are told to be."""

    def __init__(self, robot: Any = PANDA) -> None:
        self.executor = ChunkExecutor(robot, frozenset(robot.control_modes))
        self.q = np.array(robot.home_position)
        self.executor.seed(self.q)
        self.now = 0

    def tick(self, ns: int = TICK) -> Command:
        command = self.executor.tick(self.now, self.now + ns, self.q, np.zeros(self.q.size))
        self.now += ns
        if command.torques is None:
            self.q = np.array(command.positions)
        return command

    def run(self, seconds: float) -> list[Command]:
        return [self.tick() for _ in range(round(seconds * 1e9 / TICK))]


def test_a_chunk_is_executed_row_by_row_at_its_own_dt_then_held() -> None:
    robot = Perfect()
    rows = HOME + np.outer([1, 2, 3, 3], np.full(8, -0.004))
    robot.executor.submit(joint_chunk(rows, dt=0.05, sequence=7))
    commands = robot.run(0.2)
    for row in range(4):
        at_the_row = commands[5 * row + 4]
        assert np.allclose(at_the_row.positions, rows[row], atol=1e-12)
        assert (at_the_row.motion.row, at_the_row.motion.sequence) == (row, 7)
        assert at_the_row.motion.status is HalStatus.EXECUTING
    after = robot.run(0.5)
    assert all(np.array_equal(c.positions, commands[-1].positions) for c in after)
    assert (after[0].motion.status, after[0].motion.reason) == (HalStatus.HOLDING, "finished")


def test_between_rows_the_targets_run_straight() -> None:
    robot = Perfect()
    robot.executor.submit(joint_chunk([HOME - 0.05], dt=0.1))
    path = np.array([c.positions for c in robot.run(0.1)])
    expected = HOME - np.outer(np.arange(1, 11) / 10, np.full(8, 0.05))
    assert np.allclose(path[:, :7], expected[:, :7], atol=1e-12)  # the gripper keeps to its speed


def test_a_newer_chunk_replaces_the_rest_without_a_jump() -> None:
    robot = Perfect()
    robot.executor.submit(joint_chunk(HOME + np.outer(np.arange(1, 11), np.full(8, 0.01))))
    before = robot.run(0.1)[-1]
    robot.executor.submit(joint_chunk([HOME], sequence=2))
    first, *_, last = robot.run(0.05)
    assert first.motion.sequence == 2
    assert np.abs(first.positions - before.positions).max() <= SPEED.max() * TICK * 1e-9 + 1e-12
    assert np.allclose(last.positions, HOME, atol=1e-12)
    assert robot.tick().motion.reason == "finished"


def test_no_joint_is_told_to_go_faster_than_its_limit() -> None:
    robot = Perfect()
    far = np.array([joint.position_range[1] for joint in PANDA.driven])
    robot.executor.submit(joint_chunk([far], dt=0.02))
    before = HOME
    for command in robot.run(0.3):
        assert (np.abs(command.positions - before) <= SPEED * TICK * 1e-9 + 1e-12).all()
        before = command.positions
    assert np.abs(before[:7] - far[:7]).max() > 0.1  # its time is over: it holds where it got to


def test_velocities_add_up_and_end() -> None:
    robot = Perfect()
    rows = np.zeros((4, 8))
    rows[:, 0], rows[:, 1] = [0.1, 0.2, 0.2, 0.1], -0.1
    robot.executor.submit(joint_chunk(rows, mode=ControlMode.JOINT_VELOCITY))
    robot.run(1.0)
    assert np.allclose(robot.q[:2] - HOME[:2], [0.03, -0.02], atol=1e-12)
    assert np.allclose(robot.q[2:], HOME[2:])


def test_torques_are_passed_on_and_followed_by_a_hold_where_the_joints_are() -> None:
    robot = Perfect()
    rows = np.zeros((2, 8))
    rows[:, 3] = [5.0, -5.0]
    robot.executor.submit(joint_chunk(rows, mode=ControlMode.JOINT_TORQUE))
    seen = []
    for _ in range(10):
        command = robot.tick()
        assert command.torques is not None
        seen.append(command.torques[3])
        robot.q = robot.q + 0.001  # the arm moves as physics has it
    assert seen == [5.0] * 5 + [-5.0] * 5
    moved = robot.q.copy()
    held = robot.tick()
    assert held.torques is None
    assert np.abs(held.positions - moved).max() <= 0.001 + 1e-12


def test_slots_of_one_chunk_are_applied_in_the_same_tick() -> None:
    robot = Perfect(MOBILE)
    arm = [j.name for j in MOBILE.driven if j.role is JointRole.ARM]
    start = robot.q.copy()
    rows = np.tile(start[3:10] + 0.1, (2, 1))
    robot.executor.submit(
        chunk(
            slot(ControlMode.JOINT_POSITION, rows, joints=arm),
            slot(ControlMode.GRIPPER_POSITION, [[0.0], [0.0]], name="tcp"),
            slot(ControlMode.BODY_TWIST, [[0.5, 0.0, 0.0]] * 2),
        )
    )
    moved = robot.tick().positions - start
    assert (moved[3:10] > 0).all() and moved[10] < 0 and moved[0] == pytest.approx(0.005)
    robot.run(1.0)
    assert np.allclose(robot.q[3:10], rows[-1])
    assert robot.q[0] == pytest.approx(0.05)


def test_a_wrong_slot_refuses_the_whole_chunk() -> None:
    robot = Perfect(MOBILE)
    bad = chunk(
        slot(ControlMode.BODY_TWIST, [[0.5, 0.0, 0.0]]),
        slot(ControlMode.GRIPPER_POSITION, [[np.nan]], name="tcp"),
    )
    with pytest.raises(ConfigError, match="not finite"):
        robot.executor.submit(bad)
    assert np.array_equal(robot.tick().positions, MOBILE.home_position)


def test_a_base_follows_the_arc_of_its_twist() -> None:
    robot = Perfect(MOBILE)
    rows = [[0.5, 0.0, 1.0]] * 20
    robot.executor.submit(chunk(slot(ControlMode.BODY_TWIST, rows), dt=0.05))
    robot.run(1.0)
    radius = 0.5
    assert np.allclose(robot.q[:3], [radius * np.sin(1), radius * (1 - np.cos(1)), 1.0], atol=1e-9)


def test_a_binary_gripper_goes_on_to_its_end_at_its_own_speed() -> None:
    robot = Perfect()
    robot.executor.submit(chunk(slot(ControlMode.GRIPPER_BINARY, [[0.0]], name="tcp"), dt=0.02))
    robot.run(0.02)
    assert robot.q[7] > 0.03  # 0.1 m/s
    robot.run(1.0)
    assert robot.q[7] == 0.0
    assert np.array_equal(robot.q[:7], HOME[:7])


def test_a_gripper_that_closes_freezes_under_estop() -> None:
    robot = Perfect()
    robot.executor.submit(chunk(slot(ControlMode.GRIPPER_BINARY, [[0.0]], name="tcp"), dt=0.02))
    robot.run(0.1)
    robot.executor.stop("operator")
    at = robot.tick().positions[7]
    assert robot.run(0.5)[-1].positions[7] == at


@pytest.mark.parametrize("robot_id", ["openarm", "so101_follower", "aloha_bimanual"])
def test_closed_is_the_limit_nearer_to_zero(robot_id: str) -> None:
    description = load_robot(robot_id)
    for effector in description.end_effectors:
        assert effector.gripper is not None
        robot = Perfect(description)
        column = description.joint_names.index(effector.gripper)
        for value, pick in ((0.0, min), (1.0, max)):
            grip = slot(ControlMode.GRIPPER_BINARY, [[value]], name=effector.name)
            robot.executor.submit(chunk(grip))
            robot.run(2.0)
            ends = description.driven[column].position_range
            assert robot.q[column] == pytest.approx(pick(ends, key=abs))


def test_an_expired_chunk_is_dropped_and_the_pose_held() -> None:
    robot = Perfect()
    robot.now = 1_000
    robot.executor.submit(joint_chunk([HOME + 0.1]), expires_ns=999)
    command = robot.tick()
    assert np.array_equal(command.positions, HOME)
    assert (command.motion.status, command.motion.reason) == (HalStatus.HOLDING, "expired")


def test_lost_time_ends_a_chunk_instead_of_skipping_rows() -> None:
    robot = Perfect()
    robot.executor.submit(joint_chunk(HOME + np.outer(np.arange(1, 40), np.full(8, 0.005))))
    before = robot.run(0.1)[-1].positions
    after = robot.tick(ns=900_000_000)
    assert after.motion.reason == "stalled"
    assert np.array_equal(after.positions, before)


def test_a_backward_clock_ends_a_chunk() -> None:
    robot = Perfect()
    robot.executor.submit(joint_chunk([HOME + 0.1], dt=1.0))
    robot.run(0.1)
    assert robot.tick(ns=-5_000_000).motion.reason == "clock went back"


def test_estop_holds_the_measured_pose_and_clears_without_a_jump() -> None:
    robot = Perfect()
    robot.executor.submit(joint_chunk([HOME - 0.3], dt=1.0))
    robot.run(0.3)
    lag = robot.q + np.array([0.02] * 7 + [0.0])  # the joints trail what they were told
    robot.q = lag
    robot.executor.stop("operator")
    stopped = robot.tick()
    assert stopped.motion.status is HalStatus.STOPPED
    assert stopped.motion.reason == "estop: operator"
    assert np.array_equal(stopped.positions[:7], lag[:7])
    with pytest.raises(SafetyViolation, match=r"operator.*clear the stop"):
        robot.executor.submit(joint_chunk([HOME]))
    robot.q = lag + 0.01  # pushed while stopped
    assert np.array_equal(robot.run(0.5)[-1].positions[:7], lag[:7])
    robot.q = lag + 0.01
    robot.executor.clear()
    cleared = robot.tick()
    assert np.allclose(cleared.positions[:7], lag[:7] + 0.01)
    assert cleared.motion.status is HalStatus.HOLDING


def test_a_blocked_joint_does_not_wind_up() -> None:
    robot = Perfect()
    rows = np.zeros((4, 8))
    rows[:, 0] = 2.0
    for sequence in range(50):
        robot.executor.submit(joint_chunk(rows, mode=ControlMode.JOINT_VELOCITY, sequence=sequence))
        for _ in range(20):
            command = robot.executor.tick(robot.now, robot.now + TICK, HOME, np.zeros(8))
            robot.now += TICK
    assert abs(command.positions[0] - HOME[0]) <= 0.25 * SPEED[0] + 4 * 0.05 * 2.0 + 1e-9


REFUSALS: list[tuple[Any, type[Exception], str]] = [
    (joint_chunk([HOME[:7]]), ConfigError, "width 7 and 7 numbers; 1 rows of 8 are 8"),
    (joint_chunk([HOME], dt=0.0), ConfigError, "dt 0 s"),
    (joint_chunk([HOME], dt=float("nan")), ConfigError, "dt nan s"),
    (joint_chunk([[0.0]], joints=["elbow"]), ConfigError, "no joint 'elbow'.*joints: panda_j"),
    (joint_chunk([[0.0]], name="leg"), ConfigError, "no group of joints 'leg'.*groups: arm"),
    (
        joint_chunk([[0.0, 0.0]], joints=["panda_joint1"] * 2),
        ConfigError,
        "'panda_joint1' is driven twice",
    ),
    (
        chunk(slot(ControlMode.FOOT_PLACEMENT, [[0.0]])),
        CapabilityMismatch,
        "cannot execute foot_placement.*it can execute: joint_position",
    ),
    (chunk(slot(ControlMode.BODY_TWIST, [[0.0] * 3])), CapabilityMismatch, "body_twist"),
    (
        chunk(slot(ControlMode.CARTESIAN_TWIST, [[0.0] * 6], frame="map")),
        ConfigError,
        "no frame 'map'; frames: panda_link0, tcp, panda_hand",
    ),
    (
        chunk(slot(ControlMode.CARTESIAN_POSE, [[0.0] * 7])),
        ConfigError,
        "quaternion of length 0",
    ),
    (
        chunk(slot(ControlMode.GRIPPER_POSITION, [[0.0]], name="left")),
        ConfigError,
        "no end effector 'left'; end effectors: tcp",
    ),
]


@pytest.mark.parametrize(("bad", "error", "text"), REFUSALS, ids=[r[2][:20] for r in REFUSALS])
def test_refusals_name_the_offender_and_the_choices(
    bad: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        Perfect().executor.submit(bad)


def test_an_unknown_mode_byte_is_refused_not_taken_for_another() -> None:
    bad = joint_chunk([HOME])
    bad.control_mode = bad.slots[0].control_mode = 13
    with pytest.raises(ConfigError, match="no control mode 13"):
        Perfect().executor.submit(bad)


class ExecutorMachine(RuleBasedStateMachine):
    """Whatever comes in whatever order: no jump, no motion when stopped, holds when done."""

    def __init__(self) -> None:
        super().__init__()
        self.robot = Perfect()
        self.before = HOME
        self.left_s = 0.0
        self.command = self.robot.tick()

    @precondition(lambda self: not self.robot.executor.stopped)
    @rule(
        rows=st.integers(1, 6),
        dt=st.sampled_from([0.01, 0.03, 0.1]),
        mode=st.sampled_from(
            [ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY, ControlMode.JOINT_VELOCITY]
        ),
        seed=st.integers(0, 1000),
    )
    def joints(self, rows: int, dt: float, mode: ControlMode, seed: int) -> None:
        data = np.random.default_rng(seed).uniform(-3.0, 3.0, (rows, 8))
        self.robot.executor.submit(joint_chunk(data, dt=dt, mode=mode))
        self.left_s = rows * dt

    @precondition(lambda self: not self.robot.executor.stopped)
    @rule(step=st.floats(-0.04, 0.04), rows=st.integers(1, 5))
    def tool(self, step: float, rows: int) -> None:
        data = [[step, -step, step, step, 0.0, step]] * rows
        self.robot.executor.submit(chunk(slot(ControlMode.CARTESIAN_DELTA, data), dt=0.03))
        self.left_s = rows * 0.03

    @precondition(lambda self: not self.robot.executor.stopped)
    @rule(value=st.sampled_from([0.0, 1.0]))
    def grip(self, value: float) -> None:
        self.robot.executor.submit(chunk(slot(ControlMode.GRIPPER_BINARY, [[value]]), dt=0.02))
        self.left_s = 0.02

    @rule(ticks=st.integers(1, 12))
    def tick(self, ticks: int) -> None:
        for _ in range(ticks):
            executor = self.robot.executor
            stopped = executor.stopped
            self.command = self.robot.tick()
            moved = np.abs(self.command.positions - self.before)
            assert (moved <= SPEED * TICK * 1e-9 + 1e-9).all()
            if stopped:
                assert self.command.motion.status is HalStatus.STOPPED
                assert (moved[:7] == 0).all()
            if self.left_s <= 1e-9 and self.command.motion.status is HalStatus.HOLDING:
                assert (moved[:7] == 0).all()
            self.left_s -= TICK * 1e-9
            self.before = self.command.positions

    @rule()
    def hold(self) -> None:
        self.robot.executor.hold("asked")
        self.left_s = 0.0

    @rule()
    def stop(self) -> None:
        self.robot.executor.stop("machine")
        with pytest.raises(SafetyViolation):
            self.robot.executor.submit(joint_chunk([HOME]))
        self.left_s = 0.0

    @rule()
    def clear(self) -> None:
        if self.robot.executor.stopped:
            self.left_s = 0.0
        self.robot.executor.clear()

    @invariant()
    def targets_are_finite_and_in_range(self) -> None:
        for value, joint in zip(self.before, PANDA.driven, strict=True):
            low, high = joint.position_range
            assert low - 1e-9 <= value <= high + 1e-9

    @invariant()
    def a_chunk_ends_in_time(self) -> None:
        if self.left_s < -2 * TICK * 1e-9:
            assert self.command.motion.status is not HalStatus.EXECUTING


TestExecutorMachine = ExecutorMachine.TestCase
TestExecutorMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
