"""Evaluations: what is counted, and that only the seed decides."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner

from openral.cli.sim import app
from openral.errors import CapabilityMismatch, ConfigError
from openral.manifest import load_robot, load_scene
from openral.sim.registry import make_rollout
from openral.skill.evaluation.episode import run_episode, skill_context
from openral.skill.evaluation.evaluation import Order, evaluate, wilson
from openral.skill.evaluation.video import Video
from openral.skill.library import make_skill, skill_names
from openral.skill.skill import Skill, SkillContext

PUSH = Order("tabletop_push", "scripted-push", "so101_follower")


def context(robot: str) -> SkillContext:
    description = load_robot(robot)
    return SkillContext(description, 20.0, len(description.driven))


@given(st.integers(1, 500), st.data())
def test_wilsons_interval_holds_the_rate_and_stays_within_zero_and_one(
    trials: int, data: st.DataObject
) -> None:
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(successes, trials)
    assert 0 <= low <= successes / trials <= high <= 1
    assert high - low < 1
    mirrored = wilson(trials - successes, trials)
    assert np.allclose((1 - high, 1 - low), mirrored)


def test_wilson_agrees_with_a_published_value() -> None:
    assert np.allclose(wilson(18, 20), (0.6990, 0.9721), atol=1e-4)
    with pytest.raises(ConfigError, match="3 successes of 2"):
        wilson(3, 2)


def test_the_outcome_depends_on_the_seed_alone_not_on_the_workers() -> None:
    one = evaluate(PUSH, episodes=3, seed=4)
    two = evaluate(PUSH, episodes=3, seed=4, workers=2)
    strip = [
        [(e.episode, e.seed, e.success, e.steps, e.reward) for e in result.episodes]
        for result in (one, two)
    ]
    assert strip[0] == strip[1]
    assert [e.seed for e in one.episodes] == [4, 5, 6]


@pytest.mark.parametrize("name", ["hold", "home", "random"])
def test_skills_without_eyes_run_on_any_robot_and_keep_to_the_limits(name: str) -> None:
    for robot in ("h1", "aloha_bimanual", "panda_mobile"):
        rollout = make_rollout(load_scene("bare"), load_robot(robot))
        skill = make_skill(name, skill_context(rollout))
        assert isinstance(skill, Skill)
        result = run_episode(rollout, skill, 0, 1)
        assert result.steps == 500
        assert not result.success


def test_random_is_seeded_and_slow_enough() -> None:
    rollout = make_rollout(load_scene("bare"), load_robot("ur5e"))
    skill = make_skill("random", skill_context(rollout))
    observation = rollout.reset(0)
    runs = []
    for seed in (1, 1, 2):
        skill.reset(seed)
        runs.append(np.concatenate([skill.act(observation) for _ in range(5)]))
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    limits = np.array([j.limits.velocity for j in rollout.robot.driven if j.limits])
    assert (np.abs(np.diff(runs[0], axis=0)) * 50 <= 0.31 * limits).all()


def test_home_ends_at_home() -> None:
    rollout = make_rollout(load_scene("bare"), load_robot("franka_panda"))
    skill = make_skill("home", skill_context(rollout))
    rollout.reset(0)
    observation = rollout.step(rollout.hold_action() + 0.1).observation
    assert np.allclose(skill.act(observation)[-1], rollout.robot.home_position)


def test_unknown_skills_parameters_and_scenes_are_refused_with_the_choices() -> None:
    with pytest.raises(ConfigError, match="did you mean 'scripted-push'"):
        make_skill("scripted_push", context("ur5e"))
    with pytest.raises(ConfigError, match="did you mean 'amplitude'"):
        make_skill("random", context("ur5e"), {"amplitud": 1})
    with pytest.raises(CapabilityMismatch, match="object 'cube'"):
        make_skill("scripted-push", context("ur5e"))
    with pytest.raises(ConfigError, match="no scene 'kitchn'"):
        evaluate(Order("kitchn", "hold"))
    assert skill_names()[:4] == ["hold", "home", "random", "scripted-push"]


def test_a_gif_shows_the_episode(tmp_path: Path) -> None:
    video = Video(tmp_path / "films" / "push.gif")
    evaluate(PUSH, episodes=1, seed=0, video=video)
    with Image.open(video.save()) as gif:
        assert gif.size == (320, 240)
        assert 20 < gif.n_frames < 300
    with pytest.raises(ConfigError, match="video formats"):
        Video(tmp_path / "push.avi")
    with pytest.raises(ConfigError, match="one worker"):
        evaluate(PUSH, episodes=2, workers=2, video=video)


def test_sim_run_prints_json_and_answers_with_its_exit_code() -> None:
    arguments = ["run", "--config", "tabletop_push", "--robot", "so101_follower", "--episodes", "1"]
    done = CliRunner().invoke(app, [*arguments, "--skill", "scripted-push", "--json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["robot"] == "so101_follower"
    assert result["success_rate"] == 1.0
    assert len(result["confidence_95"]) == 2
    assert result["episodes"][0]["seed"] == 0
    failed = CliRunner().invoke(app, [*arguments, "--skill", "hold", "--min-success", "0.5"])
    assert failed.exit_code == 1
    assert "out of steps" in failed.stdout
    assert "0/1 = 0%" in failed.stdout
