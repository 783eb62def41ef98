"""SimRollout: what every simulated scene is to the rest of openral, whatever simulates it."""

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
    """What a policy sees after a reset or a step. The arrays are the caller's to keep."""

    joint_positions: Vector
    """Measured positions of the driven joints in the manifest's order, in rad and m."""
    joint_velocities: Vector
    """Their velocities."""
    images: Mapping[str, Image] = _NOTHING
    """Height × width × 3 pictures by camera key, of the cameras that the rollout was asked for."""
    objects: Mapping[str, Vector] = _NOTHING
    """Poses of the task's objects in the robot's root frame: x y z, then quaternion w x y z."""
    time_ns: int | None = None
    """The backend's own time when it was taken; rewinds on reset."""
    state: Vector = _NO_STATE
    """The state vector of the skill's manifest, scaled as that says; empty without one."""


class Step(NamedTuple):
    """What a step returns: gymnasium's five values."""

    observation: Observation
    reward: float
    terminated: bool
    """The task is done, or cannot be done any more; see info["success"]."""
    truncated: bool
    """The episode ran out of steps."""
    info: dict[str, Any]
    """success: bool; failure: why it cannot be done any more, or None; steps: taken so far."""


class CameraInfo(NamedTuple):
    """A camera of a scene."""

    name: str
    """The sensor's name, or the scene's own name for it."""
    key: str
    """Its key in observations."""
    resolution: tuple[int, int]
    """Width and height that it is rendered at unless asked otherwise."""
    lens: Intrinsics
    """The pinhole model at that resolution."""
    depth: bool
    """Whether it is a depth camera of the robot."""


class StaticBox(NamedTuple):
    """A box of the scene that never moves."""

    name: str
    pose: Vector
    """Its centre in the robot's root frame: x y z, then quaternion w x y z."""
    half: tuple[float, float, float]
    """Half its size along its own axes."""


class MujocoHandles(NamedTuple):
    """The live simulation of a MuJoCo backend: to be touched on the rollout's thread only."""

    model: Any
    """The mujoco.MjModel."""
    data: Any
    """The mujoco.MjData."""


@runtime_checkable
class SimRollout(Protocol):
    """A scene with a robot in it, stepped at the scene's control rate.

    One thread makes, steps and renders it. Between `reset` and the end of an episode time only
    moves on; `reset` may rewind it. Stepping on after an episode's end is allowed and keeps
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
        """Numbers in an action."""

    @property
    def action_representation(self) -> Representation:
        """What those numbers are: joint_position means manifest order and units."""

    @property
    def cameras(self) -> Mapping[str, CameraInfo]:
        """All cameras by name: the manifest's first, then the scene's own."""

    def reset(self, seed: int) -> Observation:
        """Starts the episode that belongs to the seed, exactly the same one each time."""

    def step(self, action: ArrayLike) -> Step:
        """Applies one action for one control period; a wrong width or a NaN is a ConfigError."""

    def hold_action(self) -> Vector:
        """The action that keeps the robot where it is told to be now."""

    def sim_time_ns(self) -> int | None:
        """The backend's own time, or None when it has no clock."""

    def joint_positions(self) -> Vector:
        """Measured positions of the driven joints in the manifest's order."""

    def joint_velocities(self) -> Vector:
        """Measured velocities of the driven joints in the manifest's order."""

    def image(self, camera: str, size: tuple[int, int] | None = None) -> Image:
        """A picture now, height × width × 3, at the camera's resolution or at (width, height)."""

    def depth(self, camera: str, size: tuple[int, int] | None = None) -> Depth:
        """Distances in metres along the camera's view now, infinite where nothing is."""

    def mujoco_handles(self) -> MujocoHandles | None:
        """Model and data of a MuJoCo backend, None for any other."""

    def close(self) -> None:
        """Frees the simulation and its renderers; may be called twice."""


@runtime_checkable
class StateSavable(Protocol):
    """A rollout whose state can be kept and put back exactly, episode included."""

    def save_state(self) -> Any:
        """The whole state: opaque, picklable, valid for rollouts of the same scene and robot."""

    def restore_state(self, state: Any) -> Observation:
        """Puts it back; what follows is bit-identical to what followed the save."""


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
    """A rollout that can say what stands around the robot."""

    @property
    def root_pose(self) -> Vector:
        """The robot's root in the world, 4×4; the world's z points up."""

    @property
    def static_boxes(self) -> tuple[StaticBox, ...]:
        """Furniture and walls."""

    @property
    def object_halves(self) -> Mapping[str, tuple[float, float, float]]:
        """Half the size of each of the task's objects."""


@runtime_checkable
class ObjectSource(Protocol):
    """A rollout that can say where its objects are between two observations."""

    def object_poses(self) -> Mapping[str, Vector]:
        """Poses of the task's objects now, as in Observation."""


@runtime_checkable
class ServoSteppable(PhysicsSteppable, Protocol):
    """A rollout whose targets may change within a control period: `step` in its parts.

    `command`, then `physics_step` until `steps_per_period` are done, then `end_period` is one step.
    """

    @property
    def steps_per_period(self) -> int:
        """Physics steps in one control period."""

    def command(self, action: ArrayLike) -> None:
        """Sets the targets that the next physics steps work towards."""

    def end_period(self) -> Step:
        """Counts and judges a control period, as `step` does at its end."""


class Cloud(NamedTuple):
    """An organised point cloud in the camera's optical frame: z forward, x right, y down."""

    points: Depth
    """Height × width × 3 in metres; NaN where nothing was measured or the robot saw itself."""
    lens: Intrinsics
    """The pinhole model at that size."""


@runtime_checkable
class CloudSource(Protocol):
    """A rollout that measures point clouds."""

    def cloud(self, camera: str, size: tuple[int, int] | None = None) -> Cloud:
        """What a depth camera measures now, without the robot's own bodies."""


@runtime_checkable
class ScanSource(Protocol):
    """A rollout that measures planar laser scans."""

    def scan(self, lidar: str) -> Depth:
        """Ranges in metres, one a beam from the first angle on; infinite where nothing is."""
