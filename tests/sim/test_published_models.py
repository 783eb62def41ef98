"""Scenes take a robot's published model as they take its twin."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from openral.manifest import load_robot, load_scene
from openral.sim.mujoco_rollout import MujocoRollout
from openral.sim.registry import make_rollout
from openral.sim.twin.model_source import read_model
from openral.skill.evaluation.episode import run_episode, skill_context
from openral.skill.library import make_skill

MENAGERIE = Path(__file__).parents[3] / "shared" / "menagerie"
MODELS = {
    "franka_panda": "franka_emika_panda/panda.xml",
    "so100_follower": "trs_so_arm100/so_arm100.xml",
    "rizon4": "flexiv_rizon4/flexiv_rizon4.xml",
}
pytestmark = pytest.mark.skipif(not MENAGERIE.is_dir(), reason="no Menagerie models beside us")


@pytest.mark.parametrize("robot", MODELS)
def test_the_task_is_done_with_the_published_model_too(robot: str) -> None:
    path = MENAGERIE / MODELS[robot]
    description = load_robot(robot)
    source = description.sim.model_copy(update={"mjcf_uri": f"file:{path}"})
    description = description.model_copy(update={"sim": source})
    rollout = make_rollout(load_scene("tabletop_push"), description)
    assert isinstance(rollout, MujocoRollout)
    published = read_model(path).compile()
    for index in range(published.njnt):
        name = mujoco.mj_id2name(published, mujoco.mjtObj.mjOBJ_JOINT, index)
        assert mujoco.mj_id2name(rollout.model, mujoco.mjtObj.mjOBJ_JOINT, index) == name
    assert rollout.action_dim == published.nu
    assert set(rollout.cameras) >= {"overhead", "wrist", "top", "front"}
    skill = make_skill("scripted-push", skill_context(rollout))
    assert any(run_episode(rollout, skill, i, i).success for i in range(2))
    assert np.isfinite(rollout.joint_positions()).all()
