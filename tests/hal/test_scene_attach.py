"""A robot in a real scene: the same world as `sim run`, alive when idle, reset only when due."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openral.hal.build import build_hal
from openral.hal.protocols import CloudMeasuring, LidarSource
from openral.hal.sim.attached import SimAttachedHAL
from openral.manifest import ControlMode, load_robot, load_scene
from openral.sim.registry import make_rollout
from tests.hal.chunks import chunk, joint_chunk, slot

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
    ended = hal.read_state().stamp_ns
    # It was under way when the episode ended: whoever proposed it could not know.
    hal.send_action(joint_chunk([hal.read_state().positions]), expires_ns=ended + 100_000_000)
    hal.step()
    assert hal.read_state().motion.reason == "episode over"
    assert np.allclose(objects(hal), start, atol=5e-3)
    before = hal.sim_time_ns()
    hal.send_action(joint_chunk([hal.read_state().positions]), expires_ns=ended + 400_000_000)
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


def test_a_mobile_robot_scans_and_sees_the_kitchen_that_it_stands_in() -> None:
    robot = load_robot("panda_mobile")
    hal = build_hal(robot, "sim", sim_env_yaml="kitchen_drive")
    hal.connect()
    assert isinstance(hal, LidarSource | CloudMeasuring)
    lidar = robot.lidars[0]
    before = hal.read_scan(lidar.name)
    assert before.ranges.shape == (lidar.beams,)
    assert np.isfinite(before.ranges).any()
    depth = next(info.name for info in hal.cameras.values() if info.depth)
    cloud = hal.read_cloud(depth, (160, 120)).cloud.points
    assert cloud.shape == (120, 160, 3)
    assert np.isfinite(cloud).any()  # an empty cloud would read as a clear kitchen
    hal.send_action(chunk(slot(ControlMode.BODY_TWIST, [[0.3, 0.0, 0.3]] * 10), dt=0.05))
    run(hal, 0.8)
    after = hal.read_scan(lidar.name)
    assert after.stamp_ns > before.stamp_ns
    assert not np.array_equal(after.ranges, before.ranges)
    hal.close()


def test_gym_pusht_runs_behind_the_same_contract() -> None:
    """Pymunk's physics, no clock of its own, no MuJoCo."""
    pytest.importorskip("gym_pusht", reason="gym-pusht is an optional extra")
    scene = load_scene("pusht")
    rollout = make_rollout(scene)
    hal = SimAttachedHAL(rollout.robot, lambda: rollout)
    hal.connect()
    assert hal.sim_time_ns() is None
    start = hal.read_state().positions
    for _ in range(5):
        assert hal.idle_step()
    assert np.allclose(hal.read_state().positions, start, atol=2e-3)
    goal = start + np.array([0.03, -0.02])
    rows = [start + (goal - start) * k / 5 for k in range(1, 6)]
    hal.send_action(joint_chunk(rows, dt=0.1))
    speeds = []
    for _ in range(5):
        hal.step()
        speeds.append(hal.read_state().fastest_joint)
    assert max(speeds) > 0.01
    for _ in range(10):
        hal.step()
    assert np.allclose(hal.read_state().positions, goal, atol=5e-3)
    hal.estop("operator")
    assert not hal.idle_step()
    hal.close()
