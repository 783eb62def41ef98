"""MujocoRollout: a running native scene, the sole owner of its model, data and renderer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from openral.errors import CapabilityMismatch, ConfigError
from openral.manifest.skill import Representation
from openral.sim.building.scene_task import SceneTask
from openral.sim.building.scene_type import Setup
from openral.sim.building.stage import Stage
from openral.sim.building.static_boxes import body_half, static_boxes
from openral.sim.rollout import (
    CameraInfo,
    Cloud,
    Depth,
    Image,
    MujocoHandles,
    Observation,
    StaticBox,
    Step,
    Vector,
)
from openral.sim.sensors.cameras import Cameras
from openral.sim.sensors.depth_cloud import camera_range, unproject
from openral.sim.sensors.lidar import PlanarLidar
from openral.sim.sensors.renderer import Renderer
from openral.sim.twin.binding import Binding
from openral.sim.twin.root_poses import RootPoses

_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)


@dataclass(frozen=True)
class SavedState:
    """A rollout's state; see StateSavable."""

    physics: Vector
    steps: int
    held: int


class MujocoRollout:
    """SimRollout, StateSavable and ServoSteppable on MuJoCo; actions are joint positions."""

    action_representation = Representation.JOINT_POSITION

    def __init__(self, setup: Setup, stage: Stage, task: SceneTask) -> None:
        self.setup = setup
        self.scene, self.robot = setup.scene, setup.robot
        self.model = stage.compile()
        self.data = mujoco.MjData(self.model)
        self.root_pose = stage.root_pose
        """Pose of the robot's root in the world, 4×4."""
        self.robot_bodies = range(1, stage.bodies)
        """Ids of the robot's own bodies."""
        self.binding = Binding(self.robot, self.model)
        if self.binding.ctrl.size != stage.actuators:
            raise CapabilityMismatch(
                f"the model of '{self.robot.id}' has {stage.actuators} actuators, its manifest "
                f"{self.binding.ctrl.size} driven joints"
            )
        self.action_dim = int(self.binding.ctrl.size)
        self.renderer = Renderer(self.model, setup.quality)
        self._cameras = Cameras(self.robot, self.model)
        self._lidars: dict[str, PlanarLidar] = {}
        self._task = task
        task.bind(self.model, self.data)
        self._substeps = _substeps(self.scene.control_rate_hz, self.timestep_s)
        task_limits = self.scene.task
        self._max_steps = task_limits.max_steps if task_limits else None
        hold_s = task_limits.success.hold_s if task_limits else 0.0
        self._hold_steps = max(1, round(hold_s * self.scene.control_rate_hz))
        self._objects = [(name, int(self.model.body(name).id)) for name in task.objects]
        self._to_root = np.asarray(np.linalg.inv(self.root_pose), float)
        low, high = self.model.actuator_ctrlrange[self.binding.ctrl].T
        free = self.model.actuator_ctrllimited[self.binding.ctrl] == 0
        self._low, self._high = np.where(free, -np.inf, low), np.where(free, np.inf, high)
        # Views into the simulation's own arrays: access through MjData is slower.
        self._ctrl, self._ctrl_index = self.data.ctrl, _run(self.binding.ctrl)
        self._shape = (self.action_dim,)
        self._xpos, self._xquat = self.data.xpos, self.data.xquat
        self._qpos, self._qvel = self.data.qpos, self.data.qvel
        self._ids = _run(np.array([body for _, body in self._objects], int))
        self._names = tuple(name for name, _ in self._objects)
        self._steps = self._held = 0
        self._stale = True
        self.reset(self.scene.task.seed if self.scene.task else 0)

    @property
    def cameras(self) -> Mapping[str, CameraInfo]:
        """All cameras by name."""
        return self._cameras.info

    @property
    def timestep_s(self) -> float:
        """Duration of one physics step."""
        return float(self.model.opt.timestep)

    def reset(self, seed: int) -> Observation:
        """Starts an episode with the robot at home and the objects as the seed defines."""
        mujoco.mj_resetData(self.model, self.data)
        self.binding.place(self.data, self.robot.home_position)
        self.binding.command(self.data, self.robot.home_position)
        self._task.place(self.data, np.random.default_rng(seed))
        mujoco.mj_forward(self.model, self.data)
        self._steps = self._held = 0
        self._stale = True
        return self._observe()

    def step(self, action: ArrayLike) -> Step:
        """Advances one control period under joint position targets (action_dim,)."""
        self.command(action)
        self.physics_step(self._substeps)
        return self.end_period()

    @property
    def steps_per_period(self) -> int:
        """Physics steps in one control period."""
        return self._substeps

    def command(self, action: ArrayLike) -> None:
        """Sets the servos' joint position targets; ConfigError for a wrong width or a NaN."""
        targets = np.asarray(action, float)
        if targets.shape != self._shape:
            raise ConfigError(
                f"an action for '{self.robot.id}' has {self.action_dim} numbers "
                f"({', '.join(self.robot.joint_names)}), not shape {targets.shape}"
            )
        if not math.isfinite(sum(targets.tolist())):  # faster than numpy for so few numbers
            raise ConfigError(f"action {targets.tolist()} is not finite")
        # MuJoCo itself clips controls to their ranges; hold_action returns the clipped ones.
        self._ctrl[self._ctrl_index] = self.binding.to_ctrl(targets)

    def physics_step(self, count: int) -> None:
        """Advances by exactly `count` physics steps under the present controls."""
        if count < 0:
            raise ConfigError(f"cannot advance by {count} steps")
        if count:
            mujoco.mj_step(self.model, self.data, nstep=count)
            self._stale = True

    def hold_action(self) -> Vector:
        """The present targets of the servos, within their ranges."""
        ctrl = np.clip(self._ctrl[self.binding.ctrl], self._low, self._high)
        return self.binding.from_ctrl(ctrl)

    def sim_time_ns(self) -> int:
        """MuJoCo's time since the reset, in ns."""
        return round(float(self.data.time) * 1e9)

    def joint_positions(self) -> Vector:
        """Measured joint positions in the manifest's order, rad and m."""
        return self.binding.positions(self.data)

    def joint_velocities(self) -> Vector:
        """Measured joint velocities in the manifest's order, rad/s and m/s."""
        return self.binding.velocities(self.data)

    def image(self, camera: str, size: tuple[int, int] | None = None) -> Image:
        """Renders an RGB image now."""
        info = self._cameras.named(camera)
        self.refresh()
        index = self._cameras.index(camera)
        return self.renderer.colour(self.data, index, size or info.resolution)

    def depth(self, camera: str, size: tuple[int, int] | None = None) -> Depth:
        """Renders a depth image now, in m."""
        info = self._cameras.named(camera)
        self.refresh()
        index = self._cameras.index(camera)
        return self.renderer.depth(self.data, index, size or info.resolution)

    def cloud(self, camera: str, size: tuple[int, int] | None = None) -> Cloud:
        """Point cloud of a depth camera now, without the robot's own bodies."""
        self.refresh()
        index, lens = self._cameras.index(camera), self._cameras.lens(camera, size)
        near, far = camera_range(self.robot, self._cameras.named(camera).name)
        pixels = size or self._cameras.named(camera).resolution
        depth, geoms = self.renderer.depth_and_segments(self.data, index, pixels)
        depth[self._own_geoms[geoms]] = np.nan
        depth[~((depth >= near) & (depth <= far))] = np.nan
        return Cloud(unproject(depth, lens), lens)

    def scan(self, lidar: str) -> Depth:
        """Ranges of a laser scanner now, in m."""
        self.refresh()
        if lidar not in self._lidars:
            self._lidars[lidar] = PlanarLidar(self.robot, self.model, lidar, self.robot_bodies)
        return self._lidars[lidar].scan(self.data)

    @cached_property
    def _own_geoms(self) -> NDArray[np.bool_]:
        """Whether a geom is the robot's; the last entry stands for no geom."""
        own = np.isin(self.model.geom_bodyid, np.arange(1, self.robot_bodies.stop))
        return np.append(own, False)

    def mujoco_handles(self) -> MujocoHandles:
        """Model and data."""
        return MujocoHandles(self.model, self.data)

    def save_state(self) -> SavedState:
        """The complete state."""
        physics = np.empty(mujoco.mj_stateSize(self.model, _STATE))
        mujoco.mj_getState(self.model, self.data, physics, _STATE)
        return SavedState(physics, self._steps, self._held)

    def restore_state(self, state: SavedState) -> Observation:
        """Restores a saved state exactly."""
        mujoco.mj_setState(self.model, self.data, state.physics, _STATE)
        mujoco.mj_forward(self.model, self.data)
        # Forward dynamics overwrite the solver's warm start; setting the state again restores it.
        mujoco.mj_setState(self.model, self.data, state.physics, _STATE)
        self._steps, self._held = state.steps, state.held
        self._stale = True
        return self._observe()

    @cached_property
    def static_boxes(self) -> tuple[StaticBox, ...]:
        """Solid boxes of the world that never move."""
        return static_boxes(self.model, self.root_pose)

    @cached_property
    def object_halves(self) -> Mapping[str, tuple[float, float, float]]:
        """Half extents of each object's bounding box along its own axes, in m."""
        return {name: body_half(self.model, body) for name, body in self._objects}

    def object_poses(self) -> RootPoses:
        """Poses of the task's objects now, in the robot's root frame."""
        self.refresh()
        return self._objects_now()

    def _objects_now(self) -> RootPoses:
        return RootPoses(
            self._names, self._xpos[self._ids].copy(), self._xquat[self._ids].copy(), self._to_root
        )

    def refresh(self) -> None:
        """Updates body, camera and light poses to the present joint positions."""
        if self._stale:
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_comPos(self.model, self.data)
            mujoco.mj_camlight(self.model, self.data)
            self._stale = False

    def close(self) -> None:
        """Frees the renderers."""
        self.renderer.close()

    def end_period(self) -> Step:
        """Counts the control period of the last physics steps and judges the task."""
        self._steps += 1
        mujoco.mj_kinematics(self.model, self.data)
        verdict = self._task.judge(self.data)
        self._held = self._held + 1 if verdict.success else 0
        success = self._held >= self._hold_steps
        info = {"success": success, "failure": verdict.failure, "steps": self._steps}
        truncated = self._max_steps is not None and self._steps >= self._max_steps
        terminated = success or verdict.failure is not None
        return Step(self._observe(), verdict.reward, terminated, truncated, info)

    def _observe(self) -> Observation:
        keys = self.setup.cameras
        return Observation(
            self._qpos[self.binding.qpos],
            self._qvel[self.binding.qvel],
            {key: self.image(key) for key in keys} if keys else {},
            self._objects_now(),
            self.sim_time_ns(),
        )


def _run(indices: NDArray[np.int_]) -> slice | NDArray[np.int_]:
    """A slice where the indices are consecutive, which is much faster than an index array."""
    first, count = int(indices[0]) if len(indices) else 0, len(indices)
    whole = np.array_equal(indices, np.arange(first, first + count))
    return slice(first, first + count) if whole else indices


def _substeps(rate_hz: float, timestep_s: float) -> int:
    count = round(1 / (rate_hz * timestep_s))
    if count < 1 or abs(count * rate_hz * timestep_s - 1) > 1e-9:
        options = [1 / (n * timestep_s) for n in (max(1, count), count + 1)]
        valid = " or ".join(f"{rate:.6g}" for rate in options)
        raise ConfigError(
            f"control_rate_hz {rate_hz:g} is no whole number of physics steps of {timestep_s:g} s; "
            f"nearest: {valid}"
        )
    return count
