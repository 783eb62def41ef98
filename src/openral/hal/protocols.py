"""The HAL contract, and the capabilities that bridges ask for with isinstance.

A capability says that a HAL can; whether a robot has the part is in its manifest. Real HALs have
neither `idle_step` nor `advance`: nothing but an action can move them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from openral.hal.snapshot import Snapshot
from openral.manifest import ControlMode, RobotDescription
from openral.sim.rollout import CameraInfo, Cloud, Depth, Image, StaticBox

ActionChunk = Any
"""An openral_msgs/ActionChunk."""


@runtime_checkable
class HAL(Protocol):
    """A robot, simulated or real. `send_action`, `hold` and `estop` may come from any thread."""

    @property
    def robot(self) -> RobotDescription:
        """The robot that it drives."""

    @property
    def control_modes(self) -> frozenset[ControlMode]:
        """The modes that it can execute."""

    def connect(self) -> None:
        """Reaches the hardware or makes the simulation; the robot holds from here on."""

    def close(self) -> None:
        """Lets the robot go as its kind demands; may be called twice."""

    def read_state(self) -> Snapshot:
        """The latest measurement."""

    def send_action(self, chunk: ActionChunk, expires_ns: int | None = None) -> None:
        """Executes a chunk row by row at its own dt; it replaces what is left of another.

        A chunk that has not begun by `expires_ns` (in the snapshots' time) is dropped. Refuses with
        ConfigError, CapabilityMismatch or, while stopped, SafetyViolation; then nothing changes.
        """

    def hold(self, reason: str = "asked") -> None:
        """Drops what is being executed and keeps the pose, without a jump."""

    def estop(self, reason: str) -> None:
        """Stops and stays stopped; returns once motors or simulator have it, else raises."""

    def clear_estop(self) -> None:
        """Holds where the robot is now and takes actions again."""


@runtime_checkable
class SimTime(Protocol):
    """Brings a clock of its own."""

    def sim_time_ns(self) -> int | None:
        """Simulated time, never decreasing; None when the backend has none."""


@runtime_checkable
class Steppable(Protocol):
    """Moves on only when told to; a SimLoop tells it, or a program in lock-step."""

    @property
    def tick_ns(self) -> int:
        """Simulated time that one step takes."""

    def step(self) -> None:
        """One tick under what is commanded: rows, hold or stop."""

    def advance(self) -> None:
        """`step` while a real action owns the simulation, else `idle_step`."""

    def serve(self) -> None:
        """Answers what other threads have asked for."""


@runtime_checkable
class IdleSteppable(Protocol):
    """Can live on without actions: simulations alone."""

    @property
    def last_action_ns(self) -> int | None:
        """Monotonic time of the last action, refused ones included."""

    def idle_step(self) -> bool:
        """One tick of holding still outside any episode; False when stopped or disabled."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture and when it was taken."""

    pixels: Image
    stamp_ns: int


@dataclass(frozen=True, slots=True)
class DepthFrame:
    """Distances along the view in metres, infinite where nothing is, and when."""

    depth: Depth
    stamp_ns: int


@dataclass(frozen=True, slots=True)
class CloudFrame:
    """An organised point cloud in the camera's optical frame, and when it was measured."""

    cloud: Cloud
    stamp_ns: int


@dataclass(frozen=True, slots=True)
class Scan:
    """Distances of a lidar's beams in metres, first angle first, and when (REP 117)."""

    ranges: NDArray[np.float32]
    stamp_ns: int


@runtime_checkable
class CameraSource(Protocol):
    """Has colour cameras."""

    @property
    def cameras(self) -> Mapping[str, CameraInfo]:
        """All cameras by name, the manifest's first."""

    def read_image(self, camera: str, size: tuple[int, int] | None = None) -> Frame:
        """A picture, by sensor name or key."""


@runtime_checkable
class DepthSource(Protocol):
    """Has depth cameras."""

    def read_depth(self, camera: str, size: tuple[int, int] | None = None) -> DepthFrame:
        """A depth picture, by sensor name or key."""


@runtime_checkable
class CloudMeasuring(Protocol):
    """Has depth cameras whose clouds leave out the robot itself."""

    def read_cloud(self, camera: str, size: tuple[int, int] | None = None) -> CloudFrame:
        """A point cloud, by sensor name or key."""


@runtime_checkable
class LidarSource(Protocol):
    """Has planar laser scanners."""

    def read_scan(self, lidar: str) -> Scan:
        """One turn, by sensor name."""


@dataclass(frozen=True, slots=True)
class BaseState:
    """A mobile base: pose in the root's frame, twist in its own."""

    x: float
    y: float
    yaw: float
    forward: float
    left: float
    turn: float
    stamp_ns: int


@runtime_checkable
class MobileBase(Protocol):
    """Can tell where its base is."""

    def read_base(self) -> BaseState:
        """Odometry; refuses for a robot without base_joints."""


@runtime_checkable
class PoseResettable(Protocol):
    """Can be brought to a pose by a ramp within its limits."""

    def reset_to_pose(self, pose: Mapping[str, float] | None = None, seconds: float = 0.0) -> float:
        """Starts a ramp to home, or to home with these joints elsewhere; returns its duration."""


@runtime_checkable
class SceneResettable(Protocol):
    """Can start its scene anew."""

    def reset_scene(self, seed: int | None = None) -> None:
        """Begins an episode: the seed's, else the next one."""


@dataclass(frozen=True, slots=True)
class Episode:
    """How the scene's task stands."""

    number: int
    """Counts from 0."""
    seed: int
    steps: int
    """Control periods so far, those without an action left out."""
    success: bool
    failure: str | None
    """Why it cannot be done any more."""
    over: bool
    """Whether it has ended: done, failed or out of steps."""


@dataclass(frozen=True, slots=True)
class SceneObject:
    """A thing of the task, as a perfect observer sees it."""

    name: str
    pose: NDArray[np.float64]
    """In the robot's root frame: x y z, then quaternion w x y z."""
    half: tuple[float, float, float]
    """Half its size along its own axes."""


@runtime_checkable
class SceneSource(Protocol):
    """Knows the scene around it: simulations alone."""

    @property
    def episode(self) -> Episode:
        """How the task stands, as of the latest tick."""

    def root_pose(self) -> NDArray[np.float64] | None:
        """The robot's root in the world, 4×4, z up; None where the backend does not tell."""

    def known_boxes(self) -> tuple[StaticBox, ...]:
        """What stands around the robot and never moves."""

    def read_objects(self) -> tuple[SceneObject, ...]:
        """The task's objects now."""
