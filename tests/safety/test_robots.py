"""Every shipped robot in every mode it takes: stands, moves, and stops before what it would hit."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

from openral.manifest import RobotDescription, load_robot, shipped_robots
from openral.safety import Box
from tests.safety.helpers import NOW, M, chunk, composite, hold_rows
from tests.safety.robot_motions import Motion, into_a_box, into_itself, seen

ROBOTS = {name: load_robot(name) for name in shipped_robots()}
GRIPPING = {M.GRIPPER_BINARY, M.GRIPPER_POSITION, M.DEX_HAND_JOINT}
CASES = [(name, mode) for name, robot in ROBOTS.items() for mode in robot.control_modes]
MOVING = [(name, mode) for name, mode in CASES if mode not in GRIPPING | {M.BODY_TWIST}]
MOBILE = [name for name, robot in ROBOTS.items() if M.BODY_TWIST in robot.control_modes]
GRIPPERS = [
    (name, effector.name, effector.gripper)
    for name, robot in ROBOTS.items()
    for effector in robot.end_effectors
    if effector.gripper
]


def still(robot: RobotDescription, mode: M) -> list[Any]:
    """Chunks that tell a robot at home to stay there, one for each hand."""
    rows = 16
    home = np.array(robot.home_position)
    gripped = [e for e in robot.end_effectors if e.gripper]
    if mode is M.GRIPPER_BINARY:
        return [chunk(mode, np.ones((rows, 1)), name=e.name) for e in gripped]
    if mode is M.GRIPPER_POSITION:
        return [
            chunk(mode, np.full((rows, 1), robot.home[str(e.gripper)]), name=e.name)
            for e in gripped
        ]
    if mode in (M.CARTESIAN_POSE, M.COMPOSITE_MODE):
        return [Motion(robot, e, home, home, dt=0.05).chunk(mode) for e in robot.end_effectors]
    return hold_rows(robot, mode, rows)


def test_all_eleven_robots_and_their_modes_are_here() -> None:
    assert len(ROBOTS) == 11
    assert len(GRIPPERS) >= 8 and MOBILE == ["panda_mobile"]
    assert {mode for _, mode in CASES} == set(M) - {M.FOOT_PLACEMENT, M.DEX_HAND_JOINT}


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_a_robot_at_home_may_stay_there(name: str, mode: M) -> None:
    robot = ROBOTS[name]
    chunks = still(robot, mode)
    assert chunks
    for message in chunks:
        verdict = seen(robot, robot.home_position).validate(message, NOW)
        assert verdict.accepted, str(verdict)


@pytest.mark.parametrize("name", ROBOTS)
def test_every_joint_can_move_away_from_home(name: str) -> None:
    robot = ROBOTS[name]
    for joint in robot.driven:
        low, high = joint.position_range
        home = robot.home[joint.name]
        step = 0.002 if home < (low + high) / 2 else -0.002
        rows = home + step * np.arange(1, 6)[:, None]
        message = chunk(M.JOINT_POSITION, rows, joint_names=[joint.name])
        if joint.role != "base":
            verdict = seen(robot, robot.home_position).validate(message, NOW)
            assert verdict.accepted, f"{joint.name}: {verdict}"


@pytest.mark.parametrize(("name", "mode"), MOVING)
def test_a_fast_self_collision_is_refused(name: str, mode: M) -> None:
    statuses = set()
    for motion in islice(into_itself(ROBOTS[name], mode), 6):
        verdict = motion.kernel(mode).validate(motion.chunk(mode), NOW)
        assert not verdict.accepted
        statuses.add(verdict.status)
        if "self_collision" in statuses:
            break
    assert "self_collision" in statuses


@pytest.mark.parametrize(("name", "mode"), MOVING)
def test_a_box_in_the_path_is_refused(name: str, mode: M) -> None:
    robot = ROBOTS[name]
    statuses = set()
    for motion, box in islice(into_a_box(robot, mode), 2):
        message = motion.chunk(mode)
        assert motion.kernel(mode).validate(message, NOW).accepted
        verdict = motion.kernel(mode, (box,)).validate(message, NOW)
        assert not verdict.accepted
        statuses.add((verdict.status, verdict.object))
    assert ("world_collision", "crate") in statuses


@pytest.mark.parametrize("name", MOBILE)
def test_a_base_is_refused_what_stands_in_its_way(name: str) -> None:
    robot = ROBOTS[name]
    for direction in ([1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.6, 0.8]):
        drive = chunk(M.BODY_TWIST, np.tile([*np.multiply(direction, 0.4), 0.0], (60, 1)))
        assert seen(robot, robot.home_position).validate(drive, NOW).accepted
        x, y = np.multiply(direction, 1.3)
        box = Box("crate", (float(x), float(y), 0.3), (0.05, 0.05, 0.3))
        verdict = seen(robot, robot.home_position, [box]).validate(drive, NOW)
        assert (verdict.status, verdict.object) == ("world_collision", "crate")
    turn = chunk(M.BODY_TWIST, np.tile([0.0, 0.0, 1.0], (60, 1)))
    assert seen(robot, robot.home_position).validate(turn, NOW).accepted
    fast = chunk(M.BODY_TWIST, np.tile([9.0, 0.0, 0.0], (2, 1)))
    assert seen(robot, robot.home_position).validate(fast, NOW).status == "base_speed"


@pytest.mark.parametrize(("name", "hand", "joint"), GRIPPERS)
def test_grippers_keep_their_range_alone_and_in_a_composite(
    name: str, hand: str, joint: str
) -> None:
    robot = ROBOTS[name]
    low, high = robot.joint(joint).position_range
    wrong = {
        M.GRIPPER_POSITION: [low - 0.01, high + 0.01, 1e9],
        M.GRIPPER_BINARY: [-0.1, 1.1],
    }
    for mode, values in wrong.items():
        for value in values:
            bad = chunk(mode, [[1.0 if mode is M.GRIPPER_BINARY else low], [value]], name=hand)
            arm = chunk(M.JOINT_VELOCITY, np.zeros((2, 1)), joint_names=[other_than(robot, joint)])
            for message, slot in ((bad, 0), (composite([arm, bad]), 1)):
                verdict = seen(robot, robot.home_position).validate(message, NOW)
                assert verdict.status == "gripper_range", str(verdict)
                assert (verdict.row, verdict.slot, verdict.joint) == (1, slot, joint)
    nan = chunk(M.GRIPPER_POSITION, [[np.nan]], name=hand)
    assert seen(robot, robot.home_position).validate(nan, NOW).status == "not_finite"


def other_than(robot: RobotDescription, joint: str) -> str:
    return next(j.name for j in robot.driven if j.name != joint and j.role == "arm")
