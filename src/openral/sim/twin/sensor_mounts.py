"""Adds a manifest's cameras, lidars and tool points to a MuJoCo model."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.errors import CapabilityMismatch, choices
from openral.manifest import RobotDescription
from openral.manifest.base import Transform, Vec3
from openral.manifest.kinematics import matrix
from openral.manifest.link import Link
from openral.manifest.sensor import Camera, DepthCamera, Mount

# The manifest's sensors look along x with z up; MuJoCo's cameras along -z with y up.
_TO_MUJOCO = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
_PIXEL_M = 1e-6  # only the ratio of sensor size and focal length matters


def body_name(link: Link) -> str:
    """The link's name in simulation."""
    return link.sim_body_name or link.name


def camera_name(camera: Camera | DepthCamera) -> str:
    """The camera's name in simulation."""
    return camera.sim_camera_name or camera.name


def quaternion(rpy: Vec3) -> list[float]:
    """MuJoCo's quaternion w x y z of roll, pitch, yaw in rad."""
    return list(Rotation.from_euler("xyz", rpy).as_quat(scalar_first=True))


def add_sensors(spec: mujoco.MjSpec, robot: RobotDescription) -> None:
    """Adds what the model lacks: a site for each tool point and lidar, and each camera."""
    poses: dict[str, tuple[str, Mount | Transform]] = {
        effector.name: (effector.link, effector.tcp) for effector in robot.end_effectors
    }
    poses |= {lidar.name: (lidar.mount.link, lidar.mount) for lidar in robot.lidars}
    for name, (link, pose) in poses.items():
        if spec.site(name) is None:
            body, place = _on_body(spec, robot, link, matrix(pose.xyz, pose.rpy))
            body.add_site(name=name, size=[0.005] * 3, group=4, **_placed(place))
    for camera in robot.cameras:
        if spec.camera(camera_name(camera)) is None:
            _add_camera(spec, robot, camera)


def _add_camera(spec: mujoco.MjSpec, robot: RobotDescription, camera: Camera | DepthCamera) -> None:
    """Adds a camera with the manifest's intrinsics, at whatever size it is rendered."""
    mount, lens, (width, height) = camera.mount, camera.lens, camera.resolution
    body, place = _on_body(spec, robot, mount.link, matrix(mount.xyz, mount.rpy))
    place[:3, :3] = place[:3, :3] @ _TO_MUJOCO
    body.add_camera(
        name=camera_name(camera),
        resolution=[width, height],
        sensor_size=[width * _PIXEL_M, height * _PIXEL_M],
        focal_pixel=[lens.fx, lens.fy],
        principal_pixel=[(width - 1) / 2 - lens.cx, (height - 1) / 2 - lens.cy],
        **_placed(place),
    )


def _on_body(
    spec: mujoco.MjSpec, robot: RobotDescription, link: str, place: NDArray[np.float64]
) -> tuple[mujoco.MjsBody, NDArray[np.float64]]:
    """The body that carries a link, and a pose in the link's frame, transformed to that body."""
    start = link
    while (body := spec.body(body_name(robot.link(link)))) is None:
        joint = robot.parent_joint.get(link)
        if joint is None or joint.moves:
            names = [body.name for body in spec.bodies]
            raise CapabilityMismatch(
                f"the model of '{robot.id}' has no body for link '{start}'; "
                f"{choices(start, names, 'bodies')}"
            )
        place = matrix(joint.origin.xyz, joint.origin.rpy) @ place
        link = joint.parent
    return body, place


def _placed(pose: NDArray[np.float64]) -> dict[str, list[float]]:
    quat = Rotation.from_matrix(pose[:3, :3]).as_quat(scalar_first=True)
    return {"pos": list(pose[:3, 3]), "quat": list(quat)}
