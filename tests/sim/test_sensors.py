"""Cameras, depth and lidar measure what is there, where the manifest says the sensor is."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openral.errors import ConfigError
from openral.manifest import RobotDescription, load_robot, load_scene, parse_yaml
from openral.manifest.kinematics import matrix
from openral.manifest.sensor import Intrinsics, Lidar, Mount
from openral.sim.mujoco_rollout import MujocoRollout
from openral.sim.registry import make_rollout
from openral.sim.sensors.cameras import Cameras
from openral.sim.sensors.depth_cloud import unproject
from openral.sim.sensors.lidar import PlanarLidar, beam_angles
from openral.sim.sensors.renderer import Renderer
from openral.sim.twin.twin import make_twin

POST = """
id: post
name: A post with an eye
kind: arm
base_frame: base
links:
- {name: base, mass: 1.0, capsules: [{p0: [0, 0, 0], p1: [0, 0, 0.1], radius: 0.05}]}
- {name: head, mass: 1.0, capsules: [{p0: [0, 0, 0.3], p1: [0, 0, 0.35], radius: 0.02}]}
joints:
- name: neck
  type: revolute
  parent: base
  child: head
  origin: {xyz: [0, 0, 0.1]}
  limits: {position: [-1, 1], velocity: 1, effort: 10}
home: {neck: 0}
sensors:
- name: eye
  modality: rgb
  resolution: [160, 120]
  mount: {link: head, xyz: [0.05, 0.02, 0.1], rpy: [0.1, 0.2, -0.3]}
  LENS
control_modes: [joint_position]
"""
LENSES = {
    "fovy": "fovy_deg: 60",
    "off-centre": "intrinsics: {fx: 130, fy: 110, cx: 60.5, cy: 70.25}",
}


def post(lens: str) -> RobotDescription:
    return parse_yaml(RobotDescription, POST.replace("LENS", LENSES[lens]), "post")


@pytest.mark.parametrize("lens", LENSES)
@pytest.mark.parametrize("size", [(160, 120), (320, 240), (200, 80)])
@pytest.mark.parametrize("pixel", [(30.0, 25.0), (100.0, 90.0), (140.0, 60.0)])
def test_a_ball_appears_at_the_pixel_that_the_lens_predicts(
    lens: str, size: tuple[int, int], pixel: tuple[float, float]
) -> None:
    robot = post(lens)
    camera, pinhole = robot.cameras[0], robot.cameras[0].lens
    depth = 1.5
    ray = np.array([(pixel[0] - pinhole.cx) / pinhole.fx, (pixel[1] - pinhole.cy) / pinhole.fy, 1])
    # Optical z, -x, -y are the mount's x, y, z.
    in_mount = depth * np.array([ray[2], -ray[0], -ray[1], 1 / depth])
    mount = matrix(camera.mount.xyz, camera.mount.rpy)
    spec = make_twin(robot)
    ball = (
        spec.body("head").add_body().add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.03, 0, 0])
    )
    ball.pos, ball.rgba = (mount @ in_mount)[:3], [1, 0, 0, 1]
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    cameras, renderer = Cameras(robot, model), Renderer(model)
    picture = renderer.colour(data, cameras.index("eye"), size).astype(int)
    measured = renderer.depth(data, cameras.index("eye"), size)
    geoms = renderer.segments(data, cameras.index("eye"), size)
    renderer.close()
    red = (geoms == model.ngeom - 1).nonzero()
    assert (picture[red][:, 0] - picture[red][:, 1] > 20).mean() > 0.9
    scaled = cameras.lens("eye", size)
    u = scaled.fx * ray[0] + scaled.cx
    v = scaled.fy * ray[1] + scaled.cy
    assert abs(red[1].mean() - u) < 0.7
    assert abs(red[0].mean() - v) < 0.7
    assert measured[round(v), round(u)] == pytest.approx(depth - 0.03, abs=0.015)


@given(
    st.tuples(st.floats(20, 400), st.floats(20, 400), st.floats(5, 60), st.floats(5, 40)),
    st.floats(0.1, 10),
)
@settings(max_examples=50, deadline=None)
def test_unprojected_points_project_back(lens: tuple[float, ...], depth: float) -> None:
    pinhole = Intrinsics(fx=lens[0], fy=lens[1], cx=lens[2], cy=lens[3])
    points = unproject(np.full((40, 60), depth, np.float32), pinhole).astype(float)
    u = pinhole.fx * points[..., 0] / points[..., 2] + pinhole.cx
    v = pinhole.fy * points[..., 1] / points[..., 2] + pinhole.cy
    assert np.allclose(u, np.arange(60)[None, :], atol=1e-3)
    assert np.allclose(v, np.arange(40)[:, None], atol=1e-3)


@pytest.fixture(scope="module")
def mobile() -> MujocoRollout:
    rollout = make_rollout(load_scene("tabletop_push"), load_robot("panda_mobile"))
    assert isinstance(rollout, MujocoRollout)
    rollout.reset(0)
    return rollout


def test_the_cloud_lies_on_the_table_and_floor_without_the_robot(mobile: MujocoRollout) -> None:
    size = (160, 120)
    cloud = mobile.cloud("front_depth", size)
    camera = mobile.model.camera("front_depth")
    points = cloud.points[np.isfinite(cloud.points).all(axis=-1)].astype(float)
    assert len(points) > 1000  # the map's input must not collapse
    turn = mobile.data.cam_xmat[camera.id].reshape(3, 3) @ np.diag([1, -1, -1])
    world = points @ turn.T + mobile.data.cam_xpos[camera.id]
    top = float(mobile.data.body("cube").xpos[2]) - 0.0225
    flat = np.isclose(world[:, 2], 0, atol=0.02) | np.isclose(world[:, 2], top, atol=0.02)
    assert flat.mean() > 0.9
    geoms = mobile.renderer.segments(mobile.data, camera.id, size)
    own = np.isin(mobile.model.geom_bodyid, list(mobile.robot_bodies))
    seen = np.append(own, False)[geoms]
    assert seen.any()
    assert np.isnan(cloud.points[seen]).all()


def test_the_camera_turns_with_the_robot(mobile: MujocoRollout) -> None:
    saved = mobile.save_state()
    before = mobile.image("wrist", (80, 60))
    action = mobile.hold_action()
    action[mobile.robot.joint_names.index("base_yaw")] += 0.3
    for _ in range(10):
        mobile.step(action)
    after = mobile.image("wrist", (80, 60))
    mobile.restore_state(saved)
    assert np.abs(before.astype(int) - after).mean() > 2
    assert np.array_equal(mobile.image("wrist", (80, 60)), before)


def boxed_scan(angle: tuple[float, float], beams: int) -> tuple[Lidar, np.ndarray]:
    """A scanner inside its own ball, in a square room of 4 m, 1 m off the middle."""
    lidar = Lidar(
        name="scan", modality="lidar_2d", mount=Mount(link="base", xyz=(1.0, 0, 0.05)),
        beams=beams, range_m=(0.1, 10.0), angle_rad=angle,
    )  # fmt: skip
    robot = post("fovy").model_copy(update={"sensors": (lidar,)})
    spec = make_twin(robot)
    spec.body("base").add_geom(
        type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.3, 0, 0], pos=[1, 0, 0], group=0
    )
    for x, y in ((2.1, 0), (-2.1, 0), (0, 2.1), (0, -2.1)):
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=[x, y, 0],
            size=[2.2 if y else 0.1, 0.1 if y else 2.2, 1],
        )
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return lidar, PlanarLidar(robot, model, "scan", range(1, 3)).scan(data)


def test_the_scanner_measures_a_room_through_its_own_body() -> None:
    lidar, ranges = boxed_scan((-np.pi, np.pi), 90)
    angles = beam_angles(lidar)
    cos, sin = np.cos(angles), np.sin(angles)
    with np.errstate(divide="ignore"):
        walls = np.minimum(np.where(cos > 0, 1.0, 3.0) / np.abs(cos), 2.0 / np.abs(sin))
    assert np.allclose(ranges, walls, atol=1e-4)
    assert angles[0] == -np.pi
    assert angles[-1] < np.pi


def test_a_half_turn_includes_both_ends() -> None:
    lidar, ranges = boxed_scan((-np.pi / 2, np.pi / 2), 3)
    assert np.allclose(ranges, (2, 1, 2), atol=1e-4)
    assert np.allclose(beam_angles(lidar), (-np.pi / 2, 0, np.pi / 2))


def test_a_bare_twin_sees_nothing_as_far_as_it_can() -> None:
    rollout = make_rollout(load_scene("bare"), load_robot("panda_mobile"))
    assert isinstance(rollout, MujocoRollout)
    assert np.isposinf(rollout.scan("base_scan")).all()
    with pytest.raises(ConfigError, match="did you mean 'base_scan'"):
        rollout.scan("base_scam")
