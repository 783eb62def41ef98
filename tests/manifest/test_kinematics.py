"""Our forward kinematics equals MuJoCo's on any robot."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from openral import _core
from openral.errors import ConfigError
from openral.manifest import Kinematics, RobotDescription, collision_pairs, load_robot
from openral.manifest.kinematics import matrix, transform
from openral.sim.twin.binding import Binding
from openral.sim.twin.clearance import random_positions
from openral.sim.twin.twin import body_name, make_twin
from tests.manifest.strategies import robots


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(robots())
def test_forward_kinematics_equals_mujoco(robot: RobotDescription) -> None:
    model = make_twin(robot).compile()
    data = mujoco.MjData(model)
    binding, kinematics = Binding(robot, model), Kinematics(robot)
    for q in random_positions(robot, 5):
        binding.place(data, q)
        mujoco.mj_kinematics(model, data)
        for name, pose in zip(kinematics.links, kinematics.poses(q), strict=True):
            body = data.body(body_name(robot.link(name)))
            np.testing.assert_allclose(pose[:3, 3], body.xpos, atol=1e-9)
            np.testing.assert_allclose(pose[:3, :3].ravel(), body.xmat, atol=1e-9)


def test_a_wrong_number_of_joints_is_refused() -> None:
    with pytest.raises(ConfigError, match="3 joint positions given, the robot has 8"):
        Kinematics(load_robot("franka_panda")).poses([0, 0, 0])


def test_the_core_refuses_a_tree_out_of_order() -> None:
    one = np.ones(1, np.int32)
    with pytest.raises(ValueError, match="parent link must come before"):
        _core.Tree.make(
            one, 5 * one, np.eye(4)[None], np.ones((1, 3)), 0 * one, np.ones(1), np.zeros(1), 1
        )


def test_the_core_does_not_convert_silently() -> None:
    tree = _core.Tree.make(*[np.zeros(0, np.int32)] * 2, np.zeros((0, 4, 4)), np.zeros((0, 3)),
                           np.zeros(0, np.int32), np.zeros(0), np.zeros(0), 1)  # fmt: skip
    with pytest.raises(TypeError):
        tree.forward(np.zeros((1, 1), np.float32))  # type: ignore[arg-type]


def test_a_transform_survives_its_matrix() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        xyz, rpy = rng.uniform(-3, 3, 3), rng.uniform(-3, 3, 3)
        pose = matrix(tuple(xyz), tuple(rpy))
        back = transform(pose)
        np.testing.assert_allclose(matrix(back.xyz, back.rpy), pose, atol=1e-8)


def test_neighbours_and_allowed_pairs_are_not_checked() -> None:
    robot = load_robot("so100_follower")
    pairs = {frozenset(pair) for pair in collision_pairs(robot)}
    assert frozenset(("shoulder", "upper_arm")) not in pairs
    assert frozenset(("wrist", "moving_jaw")) not in pairs
    assert frozenset(("base", "gripper_body")) in pairs
