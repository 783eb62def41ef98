"""A backend that is not MuJoCo: joints that go where they are told, at a backend's own clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from openral.errors import ConfigError
from openral.manifest import RobotDescription, SceneDescription, load_robot
from openral.manifest.scene import Success, Task, World
from openral.manifest.skill import Representation
from openral.sim.rollout import CameraInfo, Depth, Image, Observation, Step, Vector

RATE_HZ = 20.0


class KinematicRollout:
    """SimRollout without physics."""

    def __init__(
        self,
        robot: str = "so101_follower",
        representation: Representation = Representation.JOINT_POSITION,
        clock: Literal["rewinds", "goes on", "none"] = "rewinds",
        ends_after: int | None = None,
        max_steps: int | None = None,
    ) -> None:
        self.robot: RobotDescription = load_robot(robot)
        success = Success(criterion="never")
        self.scene = SceneDescription(
            id="kinematic",
            name="Kinematic",
            world=World(scene="kinematic"),
            control_rate_hz=RATE_HZ,
            task=max_steps and Task(instruction="go", success=success, max_steps=max_steps),
        )
        self.action_dim = len(self.robot.driven)
        self.action_representation = representation
        self.cameras: Mapping[str, CameraInfo] = {}
        self.actions: list[Vector] = []
        self.seeds: list[int] = []
        self.missing = 0
        self.broken = False
        self._clock, self._ends_after = clock, ends_after
        self._time = 0
        self.closed = False
        self.reset(0)

    def reset(self, seed: int) -> Observation:
        self.seeds.append(seed)
        self.q = np.array(self.robot.home_position)
        self.dq = np.zeros(self.action_dim)
        self.steps = 0
        if self._clock == "rewinds":
            self._time = 0
        return self._observe()

    def step(self, action: ArrayLike) -> Step:
        if self.broken:
            raise RuntimeError("the backend broke")
        numbers = np.asarray(action, float)
        assert numbers.shape == (self.action_dim,)
        self.actions.append(numbers)
        before = self.q
        if self.action_representation is Representation.JOINT_POSITION:
            self.q = numbers.copy()
        elif self.action_representation is Representation.JOINT_VELOCITY:
            self.q = self.q + numbers / RATE_HZ
        else:
            self.q = self.q + numbers
        self.dq = (self.q - before) * RATE_HZ
        self.steps += 1
        self._time += round(1e9 / RATE_HZ)
        done = self._ends_after is not None and self.steps >= self._ends_after
        task = self.scene.task
        out = task is not None and self.steps >= task.max_steps
        return Step(self._observe(), 0.0, done, out, {"success": done, "failure": None})

    def hold_action(self) -> Vector:
        if self.action_representation is Representation.JOINT_POSITION:
            return self.q.copy()
        return np.zeros(self.action_dim)

    def sim_time_ns(self) -> int | None:
        return None if self._clock == "none" else self._time

    def joint_positions(self) -> Vector:
        return self.q[: self.action_dim - self.missing].copy()

    def joint_velocities(self) -> Vector:
        return self.dq.copy()

    def image(self, camera: str, size: tuple[int, int] | None = None) -> Image:
        raise ConfigError(f"no camera '{camera}': this backend has none")

    def depth(self, camera: str, size: tuple[int, int] | None = None) -> Depth:
        raise ConfigError(f"no camera '{camera}': this backend has none")

    def mujoco_handles(self) -> None:
        return None

    def close(self) -> None:
        self.closed = True

    def _observe(self) -> Observation:
        return Observation(self.q.copy(), self.dq.copy(), time_ns=self.sim_time_ns())
