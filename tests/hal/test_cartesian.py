"""Cartesian modes: the tool goes where it is told, and joints keep to their rates and ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from openral.hal.execution.executor import ChunkExecutor
from openral.hal.execution.tool_ik import ToolIK
from openral.manifest import ControlMode, load_robot, shipped_robots
from tests.hal.chunks import chunk, slot

TICK = 4_000_000
TOOLS = [
    (name, effector.name)
    for name in shipped_robots()
    for effector in load_robot(name).end_effectors
]


def effector(robot: Any, name: str) -> Any:
    return next(e for e in robot.end_effectors if e.name == name)


def run(robot: Any, action: Any, start: np.ndarray, seconds: float) -> np.ndarray:
    executor = ChunkExecutor(robot, frozenset(robot.control_modes))
    executor.seed(start)
    executor.submit(action)
    q, path = start, [start]
    for tick in range(round(seconds * 1e9 / TICK)):
        q = np.array(executor.tick(tick * TICK, (tick + 1) * TICK, q, 0 * q).positions)
        path.append(q)
    return np.array(path)


def bent(robot: Any) -> np.ndarray:
    """Home with every joint a little off, so that no arm is stretched out."""
    home = np.array(robot.home_position)
    for i, joint in enumerate(robot.driven):
        low, high = joint.position_range
        if joint.role.value == "arm":
            home[i] = np.clip(home[i] + 0.2 * (-1) ** i, low + 0.1, high - 0.1)
    return home


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_the_tool_follows_small_steps_on_every_robot(name: str, tool: str) -> None:
    robot = load_robot(name)
    start = bent(robot)
    ik = ToolIK(robot, effector(robot, tool))
    before = ik.pose(start)
    rows = [[0.002, 0.001, -0.001, 0.0, 0.0, 0.0]] * 10
    path = run(
        robot, chunk(slot(ControlMode.CARTESIAN_DELTA, rows, name=tool), dt=0.05), start, 0.6
    )
    after = ik.pose(path[-1])
    dof = len(ik.columns)
    if dof >= 6:
        assert np.allclose(after[:3, 3] - before[:3, 3], [0.02, 0.01, -0.01], atol=1e-3)
        assert Rotation.from_matrix(after[:3, :3] @ before[:3, :3].T).magnitude() < 0.01
    else:  # shift and turn cannot both be had; what can be done is done, and stays small
        assert np.linalg.norm(after[:3, 3] - before[:3, 3]) < 0.04
    others = [i for i in range(len(robot.driven)) if i not in ik.columns]
    assert np.array_equal(path[-1][others], start[others])


@given(
    shift=st.tuples(*[st.floats(-0.3, 0.3)] * 3),
    turn=st.tuples(*[st.floats(-1.5, 1.5)] * 3),
    name=st.sampled_from(["franka_panda", "ur5e", "so101_follower", "panda_mobile"]),
)
@settings(max_examples=30, deadline=None)
def test_joints_keep_to_their_rates_and_ranges_whatever_is_asked(
    shift: Any, turn: Any, name: str
) -> None:
    robot = load_robot(name)
    twist = slot(ControlMode.CARTESIAN_TWIST, [[*np.multiply(shift, 10), *turn]] * 5)
    path = run(robot, chunk(twist, dt=0.1), np.array(robot.home_position), 0.6)
    speed = np.array([joint.limits.velocity for joint in robot.driven if joint.limits])
    assert (np.abs(np.diff(path, axis=0)) <= speed * TICK * 1e-9 + 1e-9).all()
    for column, joint in enumerate(robot.driven):
        low, high = joint.position_range
        assert low - 1e-9 <= path[:, column].min() and path[:, column].max() <= high + 1e-9


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_an_absolute_pose_is_reached_along_a_straight_line(seed: int) -> None:
    robot = load_robot("franka_panda")
    rng = np.random.default_rng(seed)
    ik = ToolIK(robot, robot.end_effectors[0])
    start = bent(robot)
    before = ik.pose(start)
    goal = before.copy()
    goal[:3, 3] += rng.uniform(-0.08, 0.08, 3)
    goal[:3, :3] = Rotation.from_rotvec(rng.uniform(-0.2, 0.2, 3)).as_matrix() @ goal[:3, :3]
    quaternion = Rotation.from_matrix(goal[:3, :3]).as_quat()
    pose = slot(ControlMode.CARTESIAN_POSE, [[*goal[:3, 3], *quaternion]])
    path = run(robot, chunk(pose, dt=1.0), start, 1.0)
    reached = ik.pose(path[-1])
    assert np.allclose(reached, goal, atol=2e-3)
    direction = goal[:3, 3] - before[:3, 3]
    for q in path[::25]:
        at = ik.pose(q)[:3, 3] - before[:3, 3]
        off = at - direction * (at @ direction) / (direction @ direction)
        assert np.linalg.norm(off) < 2e-3


def test_a_delta_in_the_tool_frame_goes_along_the_tool() -> None:
    robot = load_robot("franka_panda")
    ik = ToolIK(robot, robot.end_effectors[0])
    start = bent(robot)
    rows = [[0.0, 0.0, 0.01, 0.0, 0.0, 0.0]] * 5
    path = run(robot, chunk(slot(ControlMode.CARTESIAN_DELTA, rows, frame="tcp")), start, 0.3)
    moved = ik.pose(path[-1])[:3, 3] - ik.pose(start)[:3, 3]
    assert np.allclose(moved, 0.05 * ik.pose(start)[:3, 2], atol=1e-3)


def test_out_of_reach_stays_bounded_and_comes_back() -> None:
    robot = load_robot("ur5e")
    start = bent(robot)
    away = slot(ControlMode.CARTESIAN_TWIST, [[0.0, 1.0, 1.0, 0.0, 0.0, 0.0]] * 40)
    path = run(robot, chunk(away, dt=0.05), start, 2.0)
    assert np.isfinite(path).all()
    assert np.abs(np.diff(path[-50:], axis=0)).max() < 3.2 * TICK * 1e-9


def test_cartesian_targets_of_a_mobile_arm_ride_on_its_base() -> None:
    robot = load_robot("panda_mobile")
    ik = ToolIK(robot, robot.end_effectors[0])
    start = bent(robot)
    before = ik.pose(start)
    action = chunk(
        slot(ControlMode.BODY_TWIST, [[0.5, 0.1, 0.4]] * 10),
        slot(ControlMode.CARTESIAN_DELTA, [[0.0, 0.0, 0.005, 0.0, 0.0, 0.0]] * 10, name="tcp"),
    )
    path = run(robot, action, start, 0.6)
    assert np.linalg.norm(path[-1][:2]) > 0.2
    assert np.allclose(ik.pose(path[-1])[:3, 3] - before[:3, 3], [0, 0, 0.05], atol=1e-3)
