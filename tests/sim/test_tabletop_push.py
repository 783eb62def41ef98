"""tabletop_push: the robot is an argument, the task is judged by cube and goal alone."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from openral.errors import ConfigError
from openral.manifest import load_robot, load_scene, shipped_robots
from openral.manifest.base import Transform
from openral.manifest.kinematics import matrix
from openral.sim.mujoco_rollout import MujocoRollout
from openral.sim.registry import make_rollout
from openral.sim.twin.twin import make_twin

ARMS = [(robot, arm.name) for robot in shipped_robots() for arm in load_robot(robot).end_effectors]


def tabletop(robot: str = "so101_follower", **options: object) -> MujocoRollout:
    scene = load_scene("tabletop_push")
    world = scene.world.model_copy(update={"options": options})
    rollout = make_rollout(scene.model_copy(update={"world": world}), load_robot(robot))
    assert isinstance(rollout, MujocoRollout)
    return rollout


@pytest.mark.parametrize(("robot", "arm"), ARMS)
def test_every_arm_of_every_robot_stands_clear_at_the_table(robot: str, arm: str) -> None:
    rollout = tabletop(robot, arm=arm)
    own = set(rollout.robot_bodies)
    for seed in range(5):
        rollout.reset(seed)
        for contact in rollout.data.contact:
            bodies = {int(rollout.model.geom_bodyid[g]) for g in (contact.geom1, contact.geom2)}
            names = {rollout.model.geom(g).name for g in (contact.geom1, contact.geom2)}
            assert not bodies & own or "floor" in names, names


@pytest.mark.parametrize("robot", ["ur5e", "aloha_bimanual", "g1", "panda_mobile"])
def test_the_robot_keeps_the_lowest_indices(robot: str) -> None:
    rollout = tabletop(robot)
    twin = make_twin(load_robot(robot), base="fixed").compile()
    for kind in (mujoco.mjtObj.mjOBJ_JOINT, mujoco.mjtObj.mjOBJ_ACTUATOR, mujoco.mjtObj.mjOBJ_BODY):
        count = {1: twin.nbody, 3: twin.njnt, 19: twin.nu}[int(kind)]
        for index in range(count):
            expected = mujoco.mj_id2name(twin, kind, index)
            assert mujoco.mj_id2name(rollout.model, kind, index) == expected
    assert rollout.action_dim == twin.nu
    assert rollout.model.joint("cube_free").qposadr[0] == twin.nq


def test_success_needs_the_cube_on_the_goal_and_held_there() -> None:
    rollout = tabletop()
    rollout.reset(3)
    cube = int(rollout.model.joint("cube_free").qposadr[0])
    hold = rollout.hold_action()
    assert not rollout.step(hold).info["success"]
    rollout.data.qpos[cube : cube + 2] = rollout.data.mocap_pos[0, :2]
    results = [rollout.step(hold) for _ in range(5)]
    assert [r.info["success"] for r in results] == [False, False, False, False, True]
    assert results[-1].terminated
    assert not results[-1].truncated
    assert results[-1].reward > -1e-3


def test_a_cube_that_leaves_the_table_ends_the_episode() -> None:
    rollout = tabletop()
    rollout.reset(0)
    cube = int(rollout.model.joint("cube_free").qposadr[0])
    rollout.data.qpos[cube] += 5.0
    result = rollout.step(rollout.hold_action())
    assert result.terminated
    assert result.info["failure"] == "the cube left the table"
    assert not result.info["success"]


def test_an_episode_ends_when_its_steps_are_used_up() -> None:
    scene = load_scene("tabletop_push")
    assert scene.task is not None
    short = scene.model_copy(update={"task": scene.task.model_copy(update={"max_steps": 3})})
    rollout = make_rollout(short, load_robot("so101_follower"))
    rollout.reset(0)
    flags = [rollout.step(rollout.hold_action()).truncated for _ in range(3)]
    assert flags == [False, False, True]


def test_cube_and_goal_start_apart_inside_the_spawn_area() -> None:
    rollout = tabletop("franka_panda", spawn_half_m=[0.06, 0.1], separation_m=0.12)
    cube = int(rollout.model.joint("cube_free").qposadr[0])
    spots = []
    for seed in range(30):
        rollout.reset(seed)
        spots.append(
            [rollout.data.qpos[cube : cube + 2].copy(), rollout.data.mocap_pos[0, :2].copy()]
        )
    seen = np.array(spots)
    assert (np.linalg.norm(seen[:, 0] - seen[:, 1], axis=1) >= 0.12).all()
    assert (np.ptp(seen.reshape(-1, 2), axis=0) <= [0.12, 0.2]).all()
    assert (np.ptp(seen.reshape(-1, 2), axis=0) >= [0.08, 0.14]).all()


def test_a_six_dof_base_pose_beats_the_yaw_options() -> None:
    scene = load_scene("tabletop_push")
    options = {"robot_base_xyz": [0.1, 0.0, 0.7], "robot_base_yaw_deg": 30.0}
    world = scene.world.model_copy(update={"options": options})
    robot = load_robot("so101_follower")
    yawed = make_rollout(scene.model_copy(update={"world": world}), robot)
    assert isinstance(yawed, MujocoRollout)
    assert np.allclose(yawed.data.xpos[1], (0.1, 0, 0.7))
    assert np.allclose(yawed.data.xmat[1][:2], (np.cos(np.pi / 6), -np.sin(np.pi / 6)))
    pose = Transform(xyz=(0.0, 0.1, 0.8), rpy=(0.1, 0.2, 0.3))
    both = make_rollout(scene.model_copy(update={"world": world, "base_pose": pose}), robot)
    assert isinstance(both, MujocoRollout)
    expected = matrix(pose.xyz, pose.rpy)
    assert np.allclose(both.data.xmat[1].reshape(3, 3), expected[:3, :3])


def test_objects_are_seen_from_the_robots_root() -> None:
    rollout = tabletop("ur5e")  # its root is turned by a quarter
    observation = rollout.reset(1)
    world = rollout.root_pose @ np.array([*observation.objects["cube"][:3], 1.0])
    assert np.allclose(world[:3], rollout.data.body("cube").xpos)


def test_bad_options_are_refused_with_what_would_be_right() -> None:
    with pytest.raises(ConfigError, match="no arm 'middle' on 'openarm'; arms: left_tcp"):
        tabletop("openarm", arm="middle")
    with pytest.raises(ConfigError, match="separation_m 3 does not fit"):
        tabletop(separation_m=3.0)
    with pytest.raises(ConfigError, match="'friction' is 9"):
        tabletop(friction=9)


def test_the_same_seed_and_actions_give_identical_states_and_images() -> None:
    first, second = tabletop("so100_follower"), tabletop("so100_follower")
    rng = np.random.default_rng(0)
    actions = first.hold_action() + rng.uniform(-0.2, 0.2, (10, first.action_dim))
    second.reset(7)
    second.step(actions[0])  # what happened before a reset leaves no trace
    traces = []
    for rollout in (first, second):
        rollout.reset(42)
        states = [rollout.step(action).observation.joint_positions for action in actions]
        pictures = [rollout.image(camera, (160, 120)) for camera in ("front", "wrist")]
        traces.append((np.array(states), rollout.save_state().physics, pictures))
        rollout.close()
    assert np.array_equal(traces[0][0], traces[1][0])
    assert np.array_equal(traces[0][1], traces[1][1])
    assert all(np.array_equal(a, b) for a, b in zip(traces[0][2], traces[1][2], strict=True))
