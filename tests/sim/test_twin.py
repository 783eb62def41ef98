"""Twins: made from the manifest alone, they stand still, track, and agree with the manifest."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from openral.manifest import collision_pairs, load_robot, shipped_robots
from openral.sim.twin.binding import Binding
from openral.sim.twin.clearance import SelfClearance, random_positions, segment_distances
from openral.sim.twin.twin import body_name, make_twin

ROBOTS = shipped_robots()


def start(robot_id: str) -> tuple[Binding, mujoco.MjModel, mujoco.MjData]:
    robot = load_robot(robot_id)
    model = make_twin(robot).compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    return Binding(robot, model), model, data


@pytest.mark.parametrize("robot_id", ROBOTS)
def test_stands_still_at_home_for_five_seconds(robot_id: str) -> None:
    binding, model, data = start(robot_id)
    home = binding.robot.home_position
    drift = 0.0
    for _ in range(50):
        mujoco.mj_step(model, data, nstep=int(0.1 / model.opt.timestep))
        drift = max(drift, np.abs(binding.positions(data) - home).max())
    assert drift < 0.01
    assert not data.warning.number.any()


@pytest.mark.parametrize("robot_id", ROBOTS)
def test_tracks_a_step_on_each_joint(robot_id: str) -> None:
    """0.2 rad at 2 ms, or what a short joint has; arrives within 2 s and never runs away."""
    binding, model, data = start(robot_id)
    assert model.opt.timestep == 0.002
    home = np.array(binding.robot.home_position)
    gaps = SelfClearance(binding.robot, collision_pairs(binding.robot))
    for index, joint in enumerate(binding.robot.driven):
        mujoco.mj_resetDataKeyframe(model, data, 0)
        low, high = joint.position_range
        step = min(0.2, 0.4 * (high - low))
        target = max(
            (home + sign * step * np.eye(len(home))[index] for sign in (1, -1)),
            key=lambda q: (low <= q[index] <= high, gaps.distances([q]).min()),
        )
        binding.command(data, target)
        peak = 0.0
        for _ in range(20):
            mujoco.mj_step(model, data, nstep=50)
            peak = max(peak, np.abs(binding.positions(data) - home).max())
        reached = binding.positions(data)[index]
        assert abs(reached - target[index]) < 0.05 * step + 0.005, (joint.name, reached)
        assert peak < 1.5 * step + 0.05, (joint.name, peak)
        assert np.abs(binding.velocities(data)).max() < 0.05, joint.name
    assert not data.warning.number.any()


@pytest.mark.parametrize("robot_id", ROBOTS)
def test_servos_come_in_the_manifests_order(robot_id: str) -> None:
    binding, _, data = start(robot_id)
    assert binding.ctrl.tolist() == list(range(len(binding.robot.driven)))
    np.testing.assert_allclose(data.ctrl, binding.robot.home_position)
    np.testing.assert_allclose(binding.to_ctrl(binding.robot.home_position), data.ctrl)
    np.testing.assert_allclose(binding.from_ctrl(data.ctrl), binding.robot.home_position)


@pytest.mark.parametrize("robot_id", ROBOTS)
def test_only_checked_pairs_can_touch(robot_id: str) -> None:
    """What collides in the twin is what the kernel will check."""
    binding, model, data = start(robot_id)
    checked = {
        frozenset(body_name(binding.robot.link(name)) for name in pair)
        for pair in collision_pairs(binding.robot)
    }
    for q in random_positions(binding.robot, 50):
        binding.place(data, q)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        for contact in data.contact:
            bodies = frozenset(model.body(model.geom_bodyid[g]).name for g in contact.geom)
            assert bodies in checked


def test_the_panda_keeps_its_masses_and_limits() -> None:
    binding, model, _ = start("franka_panda")
    for link in binding.robot.links:
        assert model.body(body_name(link)).mass[0] == pytest.approx(link.mass)
    np.testing.assert_allclose(model.joint("joint4").range, [-3.0718, -0.0698])
    np.testing.assert_allclose(model.actuator("joint1").forcerange, [-87, 87])


def test_fingers_mimic() -> None:
    binding, model, data = start("franka_panda")
    target = np.array(binding.robot.home_position)
    target[binding.robot.joint_names.index("panda_gripper")] = 0.01
    binding.command(data, target)
    mujoco.mj_step(model, data, nstep=1000)
    fingers = [data.joint(name).qpos[0] for name in ("finger_joint1", "finger_joint2")]
    np.testing.assert_allclose(fingers, 0.01, atol=1e-3)


def test_a_humanoid_can_be_pinned_or_floating() -> None:
    robot = load_robot("g1")
    pinned = make_twin(robot).compile()
    floating = make_twin(robot, base="floating").compile()
    assert floating.nv == pinned.nv + 6
    data = mujoco.MjData(floating)
    mujoco.mj_resetDataKeyframe(floating, data, 0)
    assert data.qpos[2] == pytest.approx(0.79)
    mujoco.mj_step(floating, data, nstep=250)
    assert data.qpos[2] < 0.0  # half a second of free fall: no floor, no hidden support


def test_a_holonomic_base_moves_in_its_plane() -> None:
    binding, model, data = start("panda_mobile")
    target = np.array(binding.robot.home_position)
    target[:3] = 0.3, -0.2, 0.5
    binding.command(data, target)
    mujoco.mj_step(model, data, nstep=2500)
    base = data.body("base_link")
    np.testing.assert_allclose(base.xpos, [0.3, -0.2, 0], atol=0.01)
    yaw = np.arctan2(base.xmat[3], base.xmat[0])
    assert yaw == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("robot_id", ROBOTS)
def test_cameras_look_where_their_mounts_say(robot_id: str) -> None:
    binding, model, data = start(robot_id)
    mujoco.mj_forward(model, data)
    from openral.manifest import Kinematics
    from openral.manifest.kinematics import matrix

    kinematics = Kinematics(binding.robot)
    poses = kinematics.poses(binding.robot.home_position)
    base = binding.robot.sim.base_pose
    for camera in binding.robot.cameras:
        mount = camera.mount
        link = poses[kinematics.links.index(mount.link)]
        pose = matrix(base.xyz, base.rpy) @ link @ matrix(mount.xyz, mount.rpy)
        view = data.cam(camera.sim_camera_name or camera.name)
        np.testing.assert_allclose(view.xpos, pose[:3, 3], atol=1e-6)
        axes = view.xmat.reshape(3, 3)
        np.testing.assert_allclose(-axes[:, 2], pose[:3, 0], atol=1e-6)  # forward
        np.testing.assert_allclose(axes[:, 1], pose[:3, 2], atol=1e-6)  # up


def test_the_sensors_that_were_asked_for_are_there() -> None:
    for robot_id in ("franka_panda", "ur5e", "ur10e", "rizon4", "so100_follower", "so101_follower"):
        keys = [camera.vla_feature_key for camera in load_robot(robot_id).cameras]
        assert keys == ["observation.images.camera1", "observation.images.camera2"], robot_id
    assert [camera.name for camera in load_robot("aloha_bimanual").cameras] == ["top"]
    openarm = load_robot("openarm").cameras
    assert [camera.name for camera in openarm] == ["top", "wrist_left", "wrist_right"]
    assert {camera.resolution for camera in openarm} == {(640, 480)}
    mobile = load_robot("panda_mobile")
    (lidar,) = mobile.lidars
    assert (lidar.beams, lidar.range_m, lidar.rate_hz) == (360, (0.55, 12.0), 10.0)
    depth = next(camera for camera in mobile.cameras if camera.modality == "depth")
    assert depth.range_m == (0.3, 5.0)


def test_segment_distances_against_a_dense_search() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 300, 2, 3))
    a[:20, 1] = a[:20, 0]  # points
    b[10:40, 1] = b[10:40, 0] + 1.5 * (a[10:40, 1] - a[10:40, 0])  # parallel
    along = np.linspace(0, 1, 201)
    pa = a[:, None, 0] + along[:, None] * (a[:, 1] - a[:, 0])[:, None]
    pb = b[:, None, 0] + along[:, None] * (b[:, 1] - b[:, 0])[:, None]
    dense = np.linalg.norm(pa[:, :, None] - pb[:, None, :], axis=-1).min(axis=(1, 2))
    exact = segment_distances(a, b)
    assert (exact <= dense + 1e-12).all()
    assert (dense - exact < 0.02).all()


def test_self_clearance_equals_mujocos() -> None:
    robot = load_robot("ur5e")
    model = make_twin(robot).compile()
    data = mujoco.MjData(model)
    binding = Binding(robot, model)
    pairs = collision_pairs(robot)
    clearance = SelfClearance(robot, pairs)
    for q in random_positions(robot, 30):
        binding.place(data, q)
        mujoco.mj_kinematics(model, data)
        ours = clearance.distances([q])[0]
        for pair, gap in zip(pairs, ours, strict=True):
            geoms = [
                [g for g in range(model.ngeom) if "capsule" in model.geom(g).name
                 and model.body(model.geom_bodyid[g]).name == body_name(robot.link(name))]
                for name in pair
            ]  # fmt: skip
            theirs = min(
                mujoco.mj_geomDistance(model, data, a, b, 10.0, None)
                for a in geoms[0]
                for b in geoms[1]
            )
            if theirs > 0:
                assert gap == pytest.approx(theirs, abs=1e-5)
            else:
                assert gap <= 1e-6
