"""Resolves camera names: the one rule for sensors, keys and scene cameras of a model."""

from __future__ import annotations

import math

import mujoco

from openral.errors import ConfigError, choices
from openral.manifest import RobotDescription
from openral.manifest.sensor import DepthCamera, Intrinsics
from openral.sim.rollout import CameraInfo
from openral.sim.twin.sensor_mounts import camera_name

_DEFAULT_RESOLUTION = (640, 480)


class Cameras:
    """The cameras of a model: the manifest's by sensor name, then the scene's by their own."""

    def __init__(self, robot: RobotDescription, model: mujoco.MjModel) -> None:
        present = [model.camera(index).name for index in range(model.ncam)]
        self.info: dict[str, CameraInfo] = {}
        self._index: dict[str, int] = {}
        for sensor in robot.cameras:
            name = camera_name(sensor)
            if name not in present:
                raise ConfigError(
                    f"camera '{sensor.name}' of '{robot.id}' is called '{name}' in simulation, "
                    f"which the scene lacks; {choices(name, present, 'cameras')}"
                )
            self._index[sensor.name] = present.index(name)
            self.info[sensor.name] = CameraInfo(
                sensor.name,
                sensor.key,
                sensor.resolution,
                sensor.lens,
                isinstance(sensor, DepthCamera),
            )
        taken = set(self._index.values())
        for index, name in enumerate(present):
            if name and index not in taken and name not in self.info:
                self._index[name] = index
                self.info[name] = _scene_camera(model, index, name)

    def index(self, camera: str) -> int:
        """Index in the model of a camera, given by name or by key."""
        return self._index[self.named(camera).name]

    def named(self, camera: str) -> CameraInfo:
        """The camera of that name, else of that key."""
        if camera in self.info:
            return self.info[camera]
        for info in self.info.values():
            if info.key == camera:
                return info
        raise ConfigError(f"no camera '{camera}'; {choices(camera, self.info, 'cameras')}")

    def lens(self, camera: str, size: tuple[int, int] | None) -> Intrinsics:
        """The pinhole model for an image of `size` (width, height), by default the camera's own."""
        info = self.named(camera)
        if size is None:
            return info.lens
        return info.lens.scaled(size[0] / info.resolution[0], size[1] / info.resolution[1])


def _scene_camera(model: mujoco.MjModel, index: int, name: str) -> CameraInfo:
    width, height = (int(v) for v in model.cam_resolution[index])
    if width < 16 or height < 16:  # a model that states no resolution has one pixel
        width, height = _DEFAULT_RESOLUTION
    f = height / 2 / math.tan(math.radians(float(model.cam_fovy[index])) / 2)
    lens = Intrinsics(fx=f, fy=f, cx=(width - 1) / 2, cy=(height - 1) / 2)
    return CameraInfo(name, name, (width, height), lens, depth=False)
