"""scripted-push solves tabletop_push on every arm that is promised, and never past the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from openral.manifest import load_robot, load_scene
from openral.manifest.kinematics import matrix
from openral.safety import Kernel
from openral.sim.building.reach import survey
from openral.sim.mujoco_rollout import MujocoRollout
from openral.sim.registry import make_rollout
from openral.skill.builtin.arm import Arm
from openral.skill.builtin.path_check import PathCheck
from openral.skill.builtin.tool_shape import closed_position
from openral.skill.evaluation.episode import run_episode, skill_context
from openral.skill.library import make_skill

ARMS = [
    ("franka_panda", "tcp"),
    ("ur5e", "tcp"),
    ("ur10e", "tcp"),
    ("rizon4", "tcp"),
    ("so100_follower", "tcp"),
    ("so101_follower", "tcp"),
    ("aloha_bimanual", "left_tcp"),
    ("aloha_bimanual", "right_tcp"),
    ("openarm", "left_tcp"),
    ("openarm", "right_tcp"),
]


def table_for(robot: str, arm: str) -> MujocoRollout:
    scene = load_scene("tabletop_push")
    world = scene.world.model_copy(update={"options": {"arm": arm}})
    rollout = make_rollout(scene.model_copy(update={"world": world}), load_robot(robot))
    assert isinstance(rollout, MujocoRollout)
    return rollout


@pytest.mark.parametrize(("robot", "arm"), ARMS)
def test_it_pushes_the_cube_onto_the_goal(robot: str, arm: str) -> None:
    rollout = table_for(robot, arm)
    skill = make_skill("scripted-push", skill_context(rollout))
    results = [run_episode(rollout, skill, i, seed) for i, seed in enumerate((100, 101, 102))]
    assert sum(result.success for result in results) >= 2, results


def test_every_answer_is_one_that_the_kernel_accepts() -> None:
    rollout = table_for("ur5e", "tcp")
    context = skill_context(rollout)
    skill, judge = make_skill("scripted-push", context), PathCheck(context)
    observation = rollout.reset(5)
    skill.reset(5)
    last, moved = observation.joint_positions, 0
    for _ in range(12):
        rows = skill.act(observation)
        assert judge.clear(last, rows), judge.refusal
        moved += len(rows)
        last = rows[-1]
        for row in rows:
            observation = rollout.step(row).observation
    assert moved > 50


def test_a_path_through_the_table_is_refused_with_the_reason() -> None:
    rollout = table_for("ur5e", "tcp")
    check = PathCheck(skill_context(rollout))
    home = np.array(rollout.robot.home_position)
    down = home + np.linspace(0, 1, 40)[:, None] * np.array([0, 0.8, 0, 0, 0, 0])
    assert check.clear(home, home[None])
    assert not check.clear(home, down)
    assert "'table'" in check.refusal
    assert isinstance(check._kernel, Kernel)


@pytest.mark.parametrize(("robot", "arm"), ARMS)
def test_the_arm_points_its_tool_down_at_the_middle_of_its_work(robot: str, arm: str) -> None:
    description, reach = load_robot(robot), survey(load_robot(robot), arm)
    root = matrix(description.sim.base_pose.xyz, description.sim.base_pose.rpy)
    solver = Arm(description, reach.effector, root)
    point = np.array(
        [
            reach.shoulder[0] + reach.forward * reach.distance,
            reach.shoulder[1],
            reach.surface + 0.1,
        ]
    )
    home = np.array(description.home_position)
    q = solver.solve(point, np.array([0.0, 0.0, -1.0]), home)
    assert q is not None
    assert np.linalg.norm(solver.tool(q)[:3, 3] - point) < 1e-3
    others = np.delete(np.arange(len(q)), solver.columns)
    assert np.array_equal(q[others], home[others])


def test_closed_means_closed() -> None:
    for robot, expected in (("franka_panda", 0.0), ("so101_follower", -0.1745)):
        description = load_robot(robot)
        assert closed_position(description, description.end_effectors[0]) == expected
    ur5e = load_robot("ur5e")
    assert closed_position(ur5e, ur5e.end_effectors[0]) is None
