"""An external simulator behind the same contract: not MuJoCo, no clock, yet with joint state."""

from __future__ import annotations

import numpy as np
import pytest

from openral.errors import CapabilityMismatch, ConfigError
from openral.manifest import load_robot, load_scene
from openral.sim.registry import make_rollout
from openral.sim.rollout import SimRollout

pytest.importorskip("gym_pusht", reason="the extra 'pusht' is not installed")


@pytest.fixture
def rollout() -> SimRollout:
    return make_rollout(load_scene("pusht"))


def test_it_keeps_the_contract(rollout: SimRollout) -> None:
    assert isinstance(rollout, SimRollout)
    assert rollout.mujoco_handles() is None
    assert rollout.sim_time_ns() is None
    assert rollout.robot.joint_names == ["x", "y"]
    assert rollout.action_dim == 2
    with pytest.raises(ConfigError, match=r"2 numbers \(x, y\), not shape \(3,\)"):
        rollout.step(np.zeros(3))
    with pytest.raises(CapabilityMismatch, match="flat"):
        rollout.depth("top")
    with pytest.raises(CapabilityMismatch, match="'pusht_agent' alone"):
        make_rollout(load_scene("pusht"), load_robot("ur5e"))


def test_joint_positions_and_velocities_are_the_disc_s_own(rollout: SimRollout) -> None:
    start = rollout.reset(3).joint_positions
    assert np.array_equal(start, (0.374, 0.084))  # the published start of seed 3
    target = start + np.array([-0.05, 0.1])
    moving = rollout.step(target).observation
    assert (np.sign(moving.joint_velocities) == (-1, 1)).all()
    assert np.abs(moving.joint_velocities).max() > 0.05
    for _ in range(30):
        rest = rollout.step(target).observation
    assert np.allclose(rest.joint_positions, target, atol=2e-3)
    assert np.allclose(rest.joint_velocities, 0, atol=5e-3)
    assert np.allclose(rollout.hold_action(), target)


def test_the_same_seed_gives_the_same_episode(rollout: SimRollout) -> None:
    rng = np.random.default_rng(1)
    actions = rng.uniform(0.1, 0.4, (20, 2))
    traces = []
    for _ in range(2):
        rollout.reset(11)
        steps = [rollout.step(action) for action in actions]
        traces.append(
            [(*s.observation.joint_positions, *s.observation.objects["block"]) for s in steps]
        )
    assert np.array_equal(traces[0], traces[1])


def test_pictures_come_by_sensor_name_and_key(rollout: SimRollout) -> None:
    assert rollout.image("top").shape == (96, 96, 3)
    assert rollout.image("image", (64, 32)).shape == (32, 64, 3)
    with pytest.raises(ConfigError, match="no camera 'front'; cameras: top"):
        rollout.image("front")


def test_another_control_rate_is_refused() -> None:
    scene = load_scene("pusht").model_copy(update={"control_rate_hz": 20.0})
    with pytest.raises(ConfigError, match="control_rate_hz is 20; pusht runs at 10"):
        make_rollout(scene)
