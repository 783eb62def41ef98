"""A robot in a real scene: the same world as `sim run`, alive when idle, reset only when due."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openral.hal.build import build_hal
from openral.manifest import ControlMode, load_robot, load_scene
from openral.sim.registry import make_rollout
from tests.hal.chunks import joint_chunk

SCENE = "tabletop_push"


def attach(robot: str = "franka_panda", **options: Any) -> Any:
    hal = build_hal(load_robot(robot), "sim", options, sim_env_yaml=SCENE)
    hal.connect()
    return hal


def objects(hal: Any) -> np.ndarray:
    """Poses of everything in the scene that is free to move."""
    model, data = hal.rollout.mujoco_handles()
    return np.array(data.qpos[len(hal.robot.driven) :]) if model.nq else np.empty(0)


def run(hal: Any, seconds: float) -> None:
    for _ in range(round(seconds * 1e9 / hal.tick_ns)):
        hal.step()


@pytest.mark.parametrize("robot", ["franka_panda", "so101_follower", "ur5e"])
def test_an_idle_scene_lives_and_nothing_in_it_moves_or_ends(robot: str) -> None:
    hal = attach(robot)
    run(hal, 0.5)
    before, at = objects(hal), hal.read_state()
    resets: list[int] = []
    hal.rollout.reset = resets.append
    limit = load_scene(SCENE).task
    assert limit is not None
    ticks = round((limit.max_steps + 50) / load_scene(SCENE).control_rate_hz * 1e9 / hal.tick_ns)
    for _ in range(min(ticks, 6000)):
        assert hal.idle_step()
    after = hal.read_state()
    assert after.stamp_ns > at.stamp_ns
    assert np.allclose(objects(hal), before, atol=1e-3)
    assert np.allclose(after.positions, at.positions, atol=1e-3)
    assert resets == []
    hal.close()


def test_sim_run_and_the_hal_see_the_same_pictures_of_the_same_state() -> None:
    hal = attach()
    rollout = make_rollout(load_scene(SCENE), load_robot("franka_panda"))
    home = hal.read_state().positions
    for _ in range(10):
        rollout.step(home)
    run(hal, 10 / load_scene(SCENE).control_rate_hz)
    assert hal.cameras.keys() == rollout.cameras.keys()
    for camera in hal.cameras:
        seen = hal.read_image(camera, (160, 120))
        assert np.array_equal(seen.pixels, rollout.image(camera, (160, 120)))
        assert seen.stamp_ns == rollout.sim_time_ns()
    rollout.close()
    hal.close()


def test_an_episode_that_ran_out_is_reset_by_the_next_action_and_time_goes_on() -> None:
    scene = load_scene(SCENE)
    assert scene.task is not None
    hal = attach()
    start = objects(hal)
    hold = joint_chunk(np.tile(hal.read_state().positions, (10, 1)), dt=1.0)
    hal.send_action(hold)
    run(hal, scene.task.max_steps / scene.control_rate_hz + 0.1)
    assert hal.read_state().motion.reason == "episode over"
    assert np.allclose(objects(hal), start, atol=5e-3)
    before = hal.sim_time_ns()
    hal.send_action(joint_chunk([hal.read_state().positions]))
    hal.step()
    assert hal.read_state().motion.reason == "scene reset"
    assert not np.allclose(objects(hal), start, atol=1e-2)  # the next episode's cube and goal
    assert hal.sim_time_ns() == before + hal.tick_ns
    hal.close()


def test_a_stopped_scene_stays_as_it_is_for_the_idle_stepper() -> None:
    hal = attach()
    hal.send_action(joint_chunk([[0.3] + [0.0] * 7] * 10, mode=ControlMode.JOINT_VELOCITY))
    run(hal, 0.2)
    hal.estop("operator")
    before, frame = objects(hal), hal.read_image("overhead", (64, 48)).pixels
    for _ in range(50):
        assert not hal.idle_step()
    assert np.array_equal(objects(hal), before)
    assert np.array_equal(hal.read_image("overhead", (64, 48)).pixels, frame)
    hal.close()
