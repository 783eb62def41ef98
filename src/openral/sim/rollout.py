"""SimRollout: the interface of every simulated scene, whatever the simulator behind it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openral.manifest import RobotDescription, SceneDescription
from openral.manifest.sensor import Intrinsics
from openral.manifest.skill import Representation

Vector = NDArray[np.float64]
Image = NDArray[np.uint8]
Depth = NDArray[np.float32]

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NO_STATE: Vector = np.zeros(0)


class Observation(NamedTuple):
    """Input of a policy after a reset or a step. The caller may keep the arrays."""

    joint_positions: Vector
    """Measured positions of the driven joints in the manifest's order, in rad and m."""
    joint_velocities: Vector
    """Their velocities, in rad/s and m/s."""
    images: Mapping[str, Image] = _NOTHING
    """RGB images (height, width, 3) by camera key, of the cameras the rollout was made with."""
    objects: Mapping[str, Vector] = _NOTHING
    """Poses (7,) of the task's objects in the robot's root frame: x y z, quaternion w x y z."""
    time_ns: int | None = None
    """The backend's own time of the observation; rewinds on reset."""
    state: Vector = _NO_STATE
    """The state vector of the skill's manifest, normalised as it declares; empty without one."""


class Step(NamedTuple):
    """What a step returns: gymnasium's five values."""

    observation: Observation
    reward: float
    terminated: bool
    """The task is done, or can no longer be done; see info["success"]."""
    truncated: bool
    """The episode ran out of steps."""
    info: dict[str, Any]
    """success: bool; failure: why it can no longer be done, or None; steps: taken so far."""


class CameraInfo(NamedTuple):
    """A camera of a scene."""

    name: str
    """The sensor's name, or the scene's own name for it."""
    key: str
    """Its key in observations."""
    resolution: tuple[int, int]
    """Width and height of its images by default."""
    lens: Intrinsics
    """The pinhole model at that resolution."""
    depth: bool
    """Whether it is a depth camera of the robot."""


class StaticBox(NamedTuple):
    """A box of the scene that never moves."""

    name: str
    pose: Vector
    """Pose (7,) of its centre in the robot's root frame: x y z, then quaternion w x y z."""
    half: tuple[float, float, float]
    """Half extents along its own axes, in m."""


class MujocoHandles(NamedTuple):
    """The live simulation of a MuJoCo backend: to be accessed on the rollout's thread only."""

    model: Any
    """The mujoco.MjModel."""
    data: Any
    """The mujoco.MjData."""


@runtime_checkable
class SimRollout(Protocol):
    """A scene with a robot in it, stepped at the scene's control rate.

    One thread makes, steps and renders it. Between `reset` and the end of an episode time only
    increases; `reset` may rewind it. Stepping after an episode's end is allowed and keeps
    reporting the end; it never resets by itself.
    """

    @property
    def scene(self) -> SceneDescription:
        """The scene that it was made from."""

    @property
    def robot(self) -> RobotDescription:
        """The robot in it."""

    @property
    def action_dim(self) -> int:
        """Values in an action."""

    @property
    def action_representation(self) -> Representation:
        """What those values are: joint_position means manifest order and units."""

    @property
    def cameras(self) -> Mapping[str, CameraInfo]:
        """All cameras by name: the manifest's first, then the scene's own."""

    def reset(self, seed: int) -> Observation:
        """Starts the episode of the seed, exactly the same one each time."""

    def step(self, action: ArrayLike) -> Step:
        """Applies an action (action_dim,) for one control period; ConfigError if it is invalid."""

    def hold_action(self) -> Vector:
        """The action that holds the robot at its present targets."""

    def sim_time_ns(self) -> int | None:
        """The backend's own time in ns, or None when it has no clock."""

    def joint_positions(self) -> Vector:
        """Measured positions of the driven joints in the manifest's order, rad and m."""

    def joint_velocities(self) -> Vector:
        """Measured velocities of the driven joints in the manifest's order, rad/s and m/s."""

    def image(self, camera: str, size: tuple[int, int] | None = None) -> Image:
        """An RGB image (height, width, 3) now; `size` is (width, height), else the camera's own."""

    def depth(self, camera: str, size: tuple[int, int] | None = None) -> Depth:
        """Depth image (height, width) along the optical axis now, in m; infinite without a hit."""

    def mujoco_handles(self) -> MujocoHandles | None:
        """Model and data of a MuJoCo backend, None for any other."""

    def close(self) -> None:
        """Releases the simulation and its renderers; may be called twice."""


@runtime_checkable
class StateSavable(Protocol):
    """A rollout whose state can be saved and restored exactly, episode included."""

    def save_state(self) -> Any:
        """The complete state: opaque, picklable, valid for rollouts of the same scene and robot."""

    def restore_state(self, state: Any) -> Observation:
        """Restores it; what follows is bit-identical to what followed the save."""


@runtime_checkable
class PhysicsSteppable(Protocol):
    """A rollout that can be advanced by single physics steps."""

    @property
    def timestep_s(self) -> float:
        """Duration of one physics step."""

    def physics_step(self, count: int) -> None:
        """Advances by exactly `count` physics steps under the present controls."""


@runtime_checkable
class Surveyed(Protocol):
    """A rollout that knows the static boxes and objects around the robot."""

    @property
    def root_pose(self) -> Vector:
        """Pose of the robot's root in the world, 4×4; the world's z axis points up."""

    @property
    def static_boxes(self) -> tuple[StaticBox, ...]:
        """Furniture and walls."""

    @property
    def object_halves(self) -> Mapping[str, tuple[float, float, float]]:
        """Half extents of the task's objects by name, in m."""


@runtime_checkable
class ObjectSource(Protocol):
    """A rollout that knows the poses of its objects between two observations."""

    def object_poses(self) -> Mapping[str, Vector]:
        """Poses of the task's objects now, as in Observation."""


@runtime_checkable
class ServoSteppable(PhysicsSteppable, Protocol):
    """A rollout whose targets may change within a control period.

    `command`, then `steps_per_period` times `physics_step`, then `end_period` make up one `step`.
    """

    @property
    def steps_per_period(self) -> int:
        """Physics steps in one control period."""

    def command(self, action: ArrayLike) -> None:
        """Sets the targets of the next physics steps."""

    def end_period(self) -> Step:
        """Counts a control period and judges the task, as `step` does at its end."""


class Cloud(NamedTuple):
    """An organised point cloud in the camera's optical frame: z forward, x right, y down."""

    points: Depth
    """(height, width, 3) in m; NaN where nothing was measured or the robot saw itself."""
    lens: Intrinsics
    """The pinhole model at that size."""


@runtime_checkable
class CloudSource(Protocol):
    """A rollout that measures point clouds."""

    def cloud(self, camera: str, size: tuple[int, int] | None = None) -> Cloud:
        """Point cloud of a depth camera now, without the robot's own bodies."""


@runtime_checkable
class ScanSource(Protocol):
    """A rollout that measures planar laser scans."""

    def scan(self, lidar: str) -> Depth:
        """Ranges (beams,) in m, ordered from the first angle; infinite where nothing is hit."""
