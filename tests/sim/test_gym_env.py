"""A rollout is a gymnasium environment."""

from __future__ import annotations

import numpy as np
import pytest

from openral.manifest import load_robot, load_scene
from openral.sim.registry import make_rollout

pytest.importorskip("gymnasium", reason="the extra 'gym' is not installed")

from gymnasium.utils.env_checker import check_env

from openral.sim.gym_env import GymEnv


@pytest.mark.filterwarnings("ignore::UserWarning")  # advice about symmetric action spaces
def test_tabletop_push_passes_gymnasiums_own_check() -> None:
    scene = load_scene("tabletop_push")
    env = GymEnv(make_rollout(scene, load_robot("so101_follower"), cameras=("camera2",)))
    check_env(env, skip_render_check=True)
    first, info = env.reset(seed=5)
    again, _ = env.reset(seed=5)
    assert info == {"seed": 5}
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert first["images.camera2"].shape == (480, 640, 3)
    assert env.render().shape == (480, 640, 3)
    env.close()
