"""The twin's joints are damped as the manifest says: in proportion to their speed, no more."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from openral.manifest import load_robot
from openral.sim.twin.twin import joint_name, make_twin


@pytest.mark.parametrize("robot", ["aloha_bimanual", "franka_panda", "openarm"])
def test_a_twins_passive_force_is_linear_in_the_speed(robot: str) -> None:
    described = load_robot(robot)
    model = make_twin(described).compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    joint = max(described.driven, key=lambda j: j.dynamics.damping)
    dof = int(model.joint(joint_name(joint)).dofadr[0])
    for speed in (0.5, 2.0):
        data.qvel[:] = 0.0
        data.qvel[dof] = speed
        mujoco.mj_forward(model, data)
        assert np.isclose(data.qfrc_damper[dof], -joint.dynamics.damping * speed)


@pytest.mark.parametrize("robot", ["franka_panda", "ur10e", "ur5e", "so101_follower"])
def test_a_twin_that_was_hit_comes_to_rest(robot: str) -> None:
    """Servos at their force limit must not turn speeds round for ever."""
    described = load_robot(robot)
    model = make_twin(described).compile()
    data = mujoco.MjData(model)
    for seed in range(5):
        mujoco.mj_resetDataKeyframe(model, data, 0)
        data.qvel[:] = np.random.default_rng(seed).uniform(-1.0, 1.0, model.nv)
        mujoco.mj_step(model, data, nstep=1000)
        assert np.abs(data.qvel).max() < 0.01
