"""The scene pusht: gym-pusht as published, a 2-D simulator that is not MuJoCo and has no clock."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image as Pillow

from openral.errors import CapabilityMismatch, ConfigError, ModelUnavailable, choices
from openral.manifest.base import Model
from openral.manifest.skill import Representation
from openral.sim.building.scene_type import NoParameters, SceneType, Setup
from openral.sim.rollout import CameraInfo, Depth, Image, Observation, Step, Vector

_MM = 1000.0  # a pixel is a millimetre
_RATE_HZ = 10.0


class PushTOptions(Model):
    """Options of pusht: none, it stays as published."""


class PushTRollout:
    """The disc is a robot with two prismatic joints; the environment is not changed in any way."""

    action_representation = Representation.JOINT_POSITION
    action_dim = 2

    def __init__(self, setup: Setup) -> None:
        self.scene, self.robot = setup.scene, setup.robot
        if self.scene.control_rate_hz != _RATE_HZ:
            raise ConfigError(
                f"control_rate_hz is {self.scene.control_rate_hz:g}; pusht runs at {_RATE_HZ:g}"
            )
        self._env = _make_env()
        sensor = self.robot.cameras[0]
        info = CameraInfo(sensor.name, sensor.key, sensor.resolution, sensor.lens, depth=False)
        self._cameras = {sensor.name: info}
        self._keys = setup.cameras
        task = self.scene.task
        self._max_steps = task.max_steps if task else None
        hold_s = task.success.hold_s if task else 0.0
        self._hold_steps = max(1, round(hold_s * _RATE_HZ))
        self._steps = self._held = 0
        self._target = np.zeros(2)
        self.reset(task.seed if task else 0)

    @property
    def cameras(self) -> Mapping[str, CameraInfo]:
        """The one camera, from above."""
        return self._cameras

    def reset(self, seed: int) -> Observation:
        """Starts the published episode of that seed."""
        self._env.reset(seed=seed)
        self._steps = self._held = 0
        self._target = self.joint_positions()
        return self._observe()

    def step(self, action: ArrayLike) -> Step:
        """Advances 0.1 s towards a target position (x, y) in m."""
        target = np.asarray(action, float)
        if target.shape != (2,):
            raise ConfigError(
                f"an action for '{self.robot.id}' has 2 numbers (x, y), not shape {target.shape}"
            )
        if not np.isfinite(target).all():
            raise ConfigError(f"action {target.tolist()} is not finite")
        low, high = np.array([joint.position_range for joint in self.robot.driven]).T
        self._target = np.clip(target, low, high)
        _, reward, _, _, said = self._env.step(self._target * _MM)
        self._steps += 1
        self._held = self._held + 1 if said["is_success"] else 0
        success = self._held >= self._hold_steps
        info: dict[str, Any] = {"success": success, "failure": None, "steps": self._steps}
        info["coverage"] = float(said["coverage"])
        truncated = self._max_steps is not None and self._steps >= self._max_steps
        return Step(self._observe(), float(reward), success, truncated, info)

    def hold_action(self) -> Vector:
        """The present target position of the disc, in m."""
        return self._target.copy()

    def sim_time_ns(self) -> None:
        """None: it has no clock."""
        return

    def joint_positions(self) -> Vector:
        """Position of the disc, (x, y) in m."""
        return np.array(self._env.agent.position, float) / _MM

    def joint_velocities(self) -> Vector:
        """Velocity of the disc, (x, y) in m/s."""
        return np.array(self._env.agent.velocity, float) / _MM

    def image(self, camera: str, size: tuple[int, int] | None = None) -> Image:
        """The published image, scaled."""
        info = self._camera(camera)
        picture = Pillow.fromarray(self._env.render())
        return np.asarray(picture.resize(size or info.resolution, Pillow.Resampling.BILINEAR))

    def depth(self, camera: str, size: tuple[int, int] | None = None) -> Depth:
        """Raises CapabilityMismatch: a plane has no depth."""
        raise CapabilityMismatch("pusht is flat: its camera measures no depth")

    def mujoco_handles(self) -> None:
        """None: it is not MuJoCo."""
        return

    def close(self) -> None:
        """Closes the environment."""
        self._env.close()

    def _camera(self, name: str) -> CameraInfo:
        for info in self._cameras.values():
            if name in {info.name, info.key}:
                return info
        raise ConfigError(f"no camera '{name}'; {choices(name, self._cameras, 'cameras')}")

    def _observe(self) -> Observation:
        x, y = np.array(self._env.block.position) / _MM
        half = float(self._env.block.angle) / 2
        block = np.array([x, y, 0.0, np.cos(half), 0.0, 0.0, np.sin(half)])
        images = {key: self.image(key) for key in self._keys}
        return Observation(
            self.joint_positions(), self.joint_velocities(), images, {"block": block}, None
        )


def _make_env() -> Any:
    try:
        import gym_pusht.envs
    except ImportError:
        raise ModelUnavailable(
            "scene 'pusht' needs gym-pusht: pip install 'openral[pusht]'"
        ) from None
    return gym_pusht.envs.PushTEnv(obs_type="state", render_mode="rgb_array")


SCENE = SceneType(
    name="pusht",
    summary="Push the T onto its mark; gym-pusht as published, its own disc alone.",
    options=PushTOptions,
    criteria={"covered": NoParameters},
    build=PushTRollout,
    fixed_robot=str(Path(__file__).parent / "pusht_agent" / "robot.yaml"),
)
