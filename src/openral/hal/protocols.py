"""The HAL contract, and the capabilities that bridges query with isinstance.

A capability says what a HAL can do; whether a robot has the part is in its manifest. Real HALs have
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
    """A robot, simulated or real. Any thread may call `send_action`, `hold` and `estop`."""

    @property
    def robot(self) -> RobotDescription:
        """The robot that it drives."""

    @property
    def control_modes(self) -> frozenset[ControlMode]:
        """The control modes that it can execute."""

    def connect(self) -> None:
        """Connects to the hardware or makes the simulation; then the robot holds position."""

    def close(self) -> None:
        """Releases the robot in the way its hardware requires; may be called twice."""

    def read_state(self) -> Snapshot:
        """The latest measurement."""

    def send_action(self, chunk: ActionChunk, expires_ns: int | None = None) -> None:
        """Executes a chunk row by row at its own dt; it replaces what is left of another.

        A chunk that has not begun by `expires_ns` (in the snapshots' time) is dropped. Refuses with
        ConfigError, CapabilityMismatch or, while stopped, SafetyViolation; then nothing changes.
        """

    def hold(self, reason: str = "asked") -> None:
        """Drops the chunk in execution and holds position, without a jump."""

    def estop(self, reason: str) -> None:
        """Stops and stays stopped; returns once motors or simulator have stopped, else raises."""

    def clear_estop(self) -> None:
        """Holds the present position and accepts actions again."""


@runtime_checkable
class SimTime(Protocol):
    """Has a clock of its own."""

    def sim_time_ns(self) -> int | None:
        """Simulated time, never decreasing; None when the backend has none."""


@runtime_checkable
class Steppable(Protocol):
    """Advances only when it is stepped, by a SimLoop or by a program in lock-step."""

    @property
    def tick_ns(self) -> int:
        """Simulated time of one step, in ns."""

    def step(self) -> None:
        """Advances one tick under the present command: rows, hold or stop."""

    def advance(self) -> None:
        """`step` while a real action owns the simulation, else `idle_step`."""

    def serve(self) -> None:
        """Runs the calls that other threads have queued."""


@runtime_checkable
class IdleSteppable(Protocol):
    """Can advance without actions: simulations only."""

    @property
    def last_action_ns(self) -> int | None:
        """Monotonic time of the last action in ns, refused ones included; None: none yet."""

    def idle_step(self) -> bool:
        """Advances one tick that no episode counts, holding; False when stopped or disabled."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A colour image, (height, width, 3), and its stamp."""

    pixels: Image
    stamp_ns: int


@dataclass(frozen=True, slots=True)
class DepthFrame:
    """A depth image, (height, width) in m along the view, infinite where empty, and its stamp."""

    depth: Depth
    stamp_ns: int


@dataclass(frozen=True, slots=True)
class CloudFrame:
    """An organised point cloud in the camera's optical frame, and its stamp."""

    cloud: Cloud
    stamp_ns: int


@dataclass(frozen=True, slots=True)
class Scan:
    """Ranges of a lidar's beams in m, (beams,), first angle first (REP 117), and the stamp."""

    ranges: NDArray[np.float32]
    stamp_ns: int


@runtime_checkable
class CameraSource(Protocol):
    """Has colour cameras."""

    @property
    def cameras(self) -> Mapping[str, CameraInfo]:
        """All cameras by name, the manifest's first."""

    def read_image(self, camera: str, size: tuple[int, int] | None = None) -> Frame:
        """An image of a camera, by sensor name or key."""


@runtime_checkable
class DepthSource(Protocol):
    """Has depth cameras."""

    def read_depth(self, camera: str, size: tuple[int, int] | None = None) -> DepthFrame:
        """A depth image of a camera, by sensor name or key."""


@runtime_checkable
class CloudMeasuring(Protocol):
    """Has depth cameras whose point clouds exclude the robot itself."""

    def read_cloud(self, camera: str, size: tuple[int, int] | None = None) -> CloudFrame:
        """A point cloud of a camera, by sensor name or key."""


@runtime_checkable
class LidarSource(Protocol):
    """Has planar laser scanners."""

    def read_scan(self, lidar: str) -> Scan:
        """One scan of a lidar, by sensor name."""


@dataclass(frozen=True, slots=True)
class BaseState:
    """A mobile base: pose in the root frame, twist in the base frame; m, rad and s."""

    x: float
    y: float
    yaw: float
    forward: float
    left: float
    turn: float
    stamp_ns: int


@runtime_checkable
class MobileBase(Protocol):
    """Measures the pose of its base."""

    def read_base(self) -> BaseState:
        """Odometry; CapabilityMismatch for a robot without base_joints."""


@runtime_checkable
class PoseResettable(Protocol):
    """Can move to a pose on a ramp within its limits."""

    def reset_to_pose(self, pose: Mapping[str, float] | None = None, seconds: float = 0.0) -> float:
        """Starts a ramp to home, with the joints in `pose` elsewhere (rad or m).

        Takes at least `seconds`; returns the duration in s.
        """


@runtime_checkable
class SceneResettable(Protocol):
    """Can reset its scene."""

    def reset_scene(self, seed: int | None = None) -> None:
        """Begins an episode with this seed, or with the next one."""


@dataclass(frozen=True, slots=True)
class Episode:
    """Progress of the scene's task."""

    number: int
    """Counts from 0."""
    seed: int
    steps: int
    """Control periods so far, without idle ones."""
    success: bool
    failure: str | None
    """Why the task can no longer succeed; None: it can."""
    over: bool
    """Whether the episode has ended: success, failure or out of steps."""


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object of the task, with its true pose."""

    name: str
    pose: NDArray[np.float64]
    """In the robot's root frame: x y z in m, then quaternion w x y z."""
    half: tuple[float, float, float]
    """Half extents along its own axes, in m."""


@runtime_checkable
class SceneSource(Protocol):
    """Knows the scene around the robot: simulations only."""

    @property
    def episode(self) -> Episode:
        """Progress of the task, as of the latest tick."""

    def root_pose(self) -> NDArray[np.float64] | None:
        """Pose of the robot's root in the world, 4×4, z up; None if the backend does not know."""

    def known_boxes(self) -> tuple[StaticBox, ...]:
        """The static boxes around the robot."""

    def read_objects(self) -> tuple[SceneObject, ...]:
        """The task's objects at present."""
