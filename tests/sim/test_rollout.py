"""The contract that every rollout keeps, on the native scenes that have one."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

from openral.errors import CapabilityMismatch, ConfigError
from openral.manifest import SceneDescription, load_robot, load_scene, scene_ids, shipped_robots
from openral.manifest.base import Transform
from openral.manifest.scene import World
from openral.sim.mujoco_rollout import MujocoRollout
from openral.sim.registry import make_rollout, scene_type
from openral.sim.rollout import PhysicsSteppable, SimRollout, StateSavable
from openral.sim.sensors.renderer import WrongThread


def bare(robot: str = "so101_follower", **fields: object) -> MujocoRollout:
    scene = load_scene("bare").model_copy(update=fields)
    rollout = make_rollout(scene, load_robot(robot))
    assert isinstance(rollout, MujocoRollout)
    return rollout


@pytest.mark.parametrize("robot", shipped_robots())
def test_every_robot_holds_still_in_the_bare_scene(robot: str) -> None:
    rollout = bare(robot)
    assert isinstance(rollout, SimRollout)
    assert isinstance(rollout, StateSavable)
    assert isinstance(rollout, PhysicsSteppable)
    start = rollout.reset(0)
    for _ in range(20):
        observation, _, terminated, truncated, info = rollout.step(rollout.hold_action())
    assert rollout.action_dim == len(rollout.robot.driven) == rollout.model.nu
    assert np.allclose(observation.joint_positions, start.joint_positions, atol=1e-6)
    assert (terminated, truncated, info["success"], info["steps"]) == (False, False, False, 20)
    assert rollout.sim_time_ns() == 20 * 20_000_000


def test_the_root_stands_where_base_pose_says_facing_along_x() -> None:
    pose = Transform(xyz=(0.3, -0.2, 0.5), rpy=(0.1, 0.2, 0.3))
    rollout = bare("ur5e", base_pose=pose)
    own = rollout.robot.sim.base_pose
    data = rollout.data
    from openral.manifest.kinematics import matrix

    expected = matrix(pose.xyz, pose.rpy) @ matrix(own.xyz, own.rpy)
    assert np.allclose(data.xpos[1], expected[:3, 3], atol=1e-12)
    assert np.allclose(data.xmat[1].reshape(3, 3), expected[:3, :3], atol=1e-12)


def test_wrong_actions_are_refused_with_the_joints() -> None:
    rollout = bare()
    with pytest.raises(ConfigError, match=r"has 6 numbers \(shoulder_pan, .*not shape \(5,\)"):
        rollout.step(np.zeros(5))
    with pytest.raises(ConfigError, match="not finite"):
        rollout.step([0, 0, np.nan, 0, 0, 0])


def test_a_saved_state_comes_back_exactly() -> None:
    rollout = bare("franka_panda")
    rng = np.random.default_rng(5)
    actions = rollout.hold_action() + rng.uniform(-0.3, 0.3, (12, rollout.action_dim))
    for action in actions[:4]:
        rollout.step(action)
    saved = pickle.loads(pickle.dumps(rollout.save_state()))
    first = [rollout.step(action).observation.joint_positions for action in actions[4:]]
    rollout.restore_state(saved)
    assert rollout.step(actions[4]).info["steps"] == 5
    rollout.restore_state(saved)
    again = [rollout.step(action).observation.joint_positions for action in actions[4:]]
    assert np.array_equal(first, again)


def test_physics_steps_are_exact() -> None:
    rollout = bare()
    rollout.physics_step(7)
    assert rollout.sim_time_ns() == 14_000_000
    with pytest.raises(ConfigError, match="-1"):
        rollout.physics_step(-1)


def test_a_control_rate_that_is_no_whole_number_of_steps_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"control_rate_hz 33 .* nearest: 33\.3333 or 31\.25"):
        bare(control_rate_hz=33.0)


def test_options_scenes_criteria_and_cameras_are_refused_with_the_choices() -> None:
    robot = load_robot("so101_follower")
    for world, text in (
        (World(scene="bear"), "did you mean 'bare'"),
        (World(scene="bare", options={"flor": True}), "did you mean 'floor'"),
        (World(scene="bare", options={"floor": "lava"}), "'floor' is 'lava'"),
    ):
        with pytest.raises(ConfigError, match=text):
            make_rollout(SceneDescription(id="a", name="a", world=world), robot)
    with pytest.raises(ConfigError, match=r"no camera 'nose'; cameras: overhead, wrist"):
        make_rollout(load_scene("bare"), robot, cameras=("nose",))
    with pytest.raises(ConfigError, match="names no robot"):
        make_rollout(load_scene("bare"))


def test_another_thread_may_not_render() -> None:
    rollout = bare()
    rollout.image("wrist", (32, 24))
    caught: list[BaseException] = []

    def draw() -> None:
        try:
            rollout.image("wrist", (32, 24))
        except WrongThread as error:
            caught.append(error)

    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    rollout.close()
    assert len(caught) == 1


def test_a_camera_is_found_by_sensor_name_and_by_key() -> None:
    rollout = bare()
    by_name, by_key = rollout.image("wrist", (64, 48)), rollout.image("camera2", (64, 48))
    assert by_name.shape == (48, 64, 3)
    assert np.array_equal(by_name, by_key)
    with pytest.raises(ConfigError, match="did you mean 'wrist'"):
        rollout.image("wirst")
    rollout.close()


@pytest.mark.parametrize("scene", scene_ids())
def test_every_shipped_scene_names_a_registered_one(scene: str) -> None:
    description = load_scene(scene)
    kind = scene_type(description.world.scene)
    if kind.fixed_robot is not None:
        other = "ur5e" if description.robot != "ur5e" else "h1"
        with pytest.raises(CapabilityMismatch, match="alone"):
            make_rollout(description, load_robot(other))
        moved = description.model_copy(update={"base_pose": Transform()})
        with pytest.raises(ConfigError, match="remove base_pose"):
            make_rollout(moved)
