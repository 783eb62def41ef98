"""What moves with a gripper is swept through the world, and its commands keep its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openral.graph.attached_object import AttachedObject
from openral.manifest import load_robot
from openral.safety import Kernel, Sphere
from tests.safety.helpers import NOW, M, chunk, composite

ROBOT = load_robot("so100_follower")
ARM = list(ROBOT.joint_names[:5])
CLOSED, OPEN = -0.07, 1.65
STICK = AttachedObject(
    "stick", "moving_jaw", (0, 0, 0), (0, -0.25, 0), 0.005, ("gripper_body", "wrist")
)
# Where the stick's end is once the jaw is open.
CUP = Sphere("cup", (-0.269, -0.239, 0.172), 0.03)
HOME = np.array([ROBOT.home[n] for n in ARM])


def holding(jaw: float = CLOSED, *, held: bool = True, cup: bool = True, speed: float = 0.0) -> Any:
    kernel = Kernel(ROBOT)
    jaw_of(kernel, jaw, speed)
    kernel.set_world([CUP] if cup else [], NOW, [STICK] if held else [])
    return kernel


def jaw_of(kernel: Kernel, jaw: float, speed: float = 0.0) -> None:
    velocities = np.zeros(len(ROBOT.joint_names))
    velocities[5] = speed
    kernel.set_state([*HOME, jaw], velocities, stamp_ns=NOW)


def arm(rows: int = 1) -> Any:
    return chunk(M.JOINT_POSITION, np.tile(HOME, (rows, 1)), joint_names=ARM)


def steps(goal: float, rows: int = 40) -> Any:
    return np.linspace(CLOSED, goal, rows + 1)[1:, None]


OPENING = {
    "position": chunk(M.GRIPPER_POSITION, [[OPEN]]),
    "binary": chunk(M.GRIPPER_BINARY, [[1.0]]),
    "beside the arm": composite([arm(), chunk(M.GRIPPER_POSITION, [[OPEN]])]),
    "by joint positions": chunk(M.JOINT_POSITION, steps(OPEN), joint_names=["gripper"]),
    "by joint velocities": chunk(M.JOINT_VELOCITY, np.full((40, 1), 0.86), joint_names=["gripper"]),
    "in the last row": chunk(M.GRIPPER_POSITION, [[CLOSED]] * 5 + [[OPEN]]),
}


@pytest.mark.parametrize("how", OPENING)
def test_a_stick_on_the_jaw_is_not_swept_into_a_cup(how: str) -> None:
    rows = OPENING[how]
    assert holding(held=False).validate(rows, NOW).accepted
    assert holding(cup=False).validate(rows, NOW).accepted
    verdict = holding().validate(rows, NOW)
    assert verdict.status == "world_collision" and verdict.latched, str(verdict)


def test_a_little_opening_that_keeps_its_distance_passes() -> None:
    assert holding().validate(chunk(M.GRIPPER_POSITION, [[0.3]]), NOW).accepted


def test_a_jaw_that_is_still_on_its_way_counts_while_the_arm_moves() -> None:
    """It was commanded to open with nothing on it; the object is known a moment later."""
    kernel = holding(held=False)
    assert kernel.validate(chunk(M.GRIPPER_POSITION, [[OPEN]]), NOW).accepted
    kernel.set_world([CUP], NOW, [STICK])
    assert kernel.validate(arm(), NOW).status == "world_collision"


def test_a_goal_counts_until_two_later_ones_have_replaced_it() -> None:
    kernel = holding(held=False)
    for goal in (OPEN, CLOSED):
        assert kernel.validate(chunk(M.GRIPPER_POSITION, [[goal]]), NOW).accepted
    kernel.set_world([CUP], NOW, [STICK])
    assert kernel.validate(arm(), NOW).status == "world_collision"
    kernel.reset()
    kernel.set_world([CUP], NOW)
    assert kernel.validate(chunk(M.GRIPPER_POSITION, [[CLOSED]]), NOW).accepted
    kernel.set_world([CUP], NOW, [STICK])
    assert kernel.validate(arm(), NOW).accepted


def test_a_refused_goal_leaves_nothing_behind() -> None:
    kernel = holding()
    assert kernel.validate(chunk(M.GRIPPER_POSITION, [[OPEN]]), NOW).latched
    kernel.reset()
    assert kernel.validate(arm(), NOW).accepted


@pytest.mark.parametrize("dt", [0.02, 0.2])
def test_positions_of_a_gripper_joint_keep_its_speed(dt: float) -> None:
    limit = ROBOT.joint("gripper").limits
    assert limit is not None
    step = limit.velocity * dt
    for share, status in ((0.99, "accepted"), (1.01, "velocity_limit")):
        rows = CLOSED + share * step * np.arange(3)[:, None]
        kernel = holding(held=False)
        verdict = kernel.validate(
            chunk(M.JOINT_POSITION, rows, joint_names=["gripper"], dt=dt), NOW
        )
        assert verdict.status == status, str(verdict)
        if status == "velocity_limit":
            assert verdict.joint == "gripper"
            assert verdict.limit == pytest.approx(limit.velocity)


def test_a_gripper_that_squeezes_may_be_far_from_its_command() -> None:
    rows = chunk(M.JOINT_POSITION, [[0.0], [0.0]], joint_names=["gripper"], dt=0.02)
    assert holding(0.5, held=False).validate(rows, NOW).accepted


def test_velocities_of_a_gripper_joint_keep_its_range() -> None:
    high = ROBOT.joint("gripper").position_range[1]
    rows = chunk(M.JOINT_VELOCITY, np.full((4, 1), 1.0), joint_names=["gripper"])
    assert holding(high - 0.22, held=False).validate(rows, NOW).accepted
    verdict = holding(high - 0.19, held=False).validate(rows, NOW)
    assert verdict.status == "gripper_range" and verdict.joint == "gripper"
    assert verdict.value == pytest.approx(high + 0.02) and verdict.limit == pytest.approx(high)
