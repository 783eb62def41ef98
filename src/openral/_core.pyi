"""openral's C++ core."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

class Tree:
    """Forward kinematics of a tree of links."""

    @staticmethod
    def make(
        kinds: NDArray[np.int32],
        parents: NDArray[np.int32],
        origins: NDArray[np.float64],
        axes: NDArray[np.float64],
        coordinates: NDArray[np.int32],
        multipliers: NDArray[np.float64],
        offsets: NDArray[np.float64],
        dof: int,
    ) -> Tree: ...
    def forward(self, q: NDArray[np.float64]) -> NDArray[np.float64]: ...

class Envelope:
    """Limits beyond the joints' own."""

    self_margin: float
    world_margin: float
    workspace_lower: Sequence[float]
    workspace_upper: Sequence[float]
    tool_speed: float
    tool_rate: float
    step: float
    turn: float
    base_speed: float
    base_rate: float
    base_tracking: float
    base_turn_tracking: float
    base_deceleration: float
    recheck: float
    stop_time: float
    jitter: float
    follow_shift: float
    follow_turn: float
    slow_distance: float
    slow_factor: float
    recovery_speed: float
    state_age: int
    world_age: int
    voxel_age: int
    base_age: int

class RobotModel:
    """What the kernel must know about a robot."""

    base: Sequence[int]
    mobile: bool
    differential: bool
    base_frame: str
    modes: int
    @property
    def envelope(self) -> Envelope: ...
    def add_coordinate(
        self,
        name: str,
        role: int,
        lower: float,
        upper: float,
        velocity: float,
        acceleration: float,
        effort: float,
        tracking: float,
    ) -> None: ...
    def add_root(self, link: str, in_base: Sequence[float]) -> None: ...
    def add_joint(
        self,
        link: str,
        kind: int,
        parent: int,
        origin: Sequence[float],
        axis: Sequence[float],
        coordinate: int,
        multiplier: float,
        offset: float,
    ) -> None: ...
    def add_capsule(
        self, link: int, p0: Sequence[float], p1: Sequence[float], radius: float
    ) -> None: ...
    def add_pair(self, a: int, b: int) -> None: ...
    def add_tool(
        self, name: str, frame: str, link: int, tcp: Sequence[float], gripper: int
    ) -> None: ...
    def add_group(self, name: str, coordinates: Sequence[int]) -> None: ...

class AttachedObject:
    """An object that moves with a link: a capsule in its frame."""

    def __init__(
        self,
        id: str,
        link: int,
        p0: Sequence[float],
        p1: Sequence[float],
        radius: float,
        touches: Sequence[int],
    ) -> None: ...

class Primitive:
    """An obstacle in the base's frame."""

    @staticmethod
    def capsule(id: str, p0: Sequence[float], p1: Sequence[float], radius: float) -> Primitive: ...
    @staticmethod
    def box(
        id: str, centre: Sequence[float], half: Sequence[float], rotation: Sequence[float]
    ) -> Primitive: ...

class Verdict:
    """The kernel's answer to a chunk; `str()` explains it in one sentence."""

    status: str
    """`accepted`, or what stands against it."""
    accepted: bool
    """Whether it may be executed."""
    latched: bool
    """Whether this verdict latched the stop."""
    stopped: bool
    """Whether the stop is latched now."""
    warn_only: bool
    """Whether findings let motion pass: simulation only."""
    rewritten: bool
    """Whether `Kernel.rewritten()` is what may be executed, not the chunk's own bytes."""
    whole: bool
    """Whether it is proven to its end, and not for `valid_ns` only."""
    speed_factor: float
    """Share of its speed at which it may be executed: below 1, `dt` is stretched by its inverse."""
    mode: str
    slot: int
    row: int
    """Row that the finding is on the way to; −1: the measured pose."""
    interval: list[float]
    """Part of the way to that row."""
    link: str
    other_link: str
    joint: str
    object: str
    """Id of the obstacle, or the name that is not known."""
    cell: list[int]
    value: float
    """Distance, or the number that breaks the limit."""
    limit: float
    """Margin, or the limit."""
    valid_ns: int
    """How long the acceptance holds without a new verdict."""
    sequence: int
    work: int
    def __bool__(self) -> bool: ...

class Kernel:
    """The gate between a proposed motion and the motors."""

    def __init__(
        self,
        model: RobotModel,
        scalar_only: bool,
        warn_only: bool,
        needs_world: bool,
        needs_voxels: bool,
        stall_ns: int,
    ) -> None: ...
    def set_state(
        self, q: NDArray[np.float64], qd: NDArray[np.float64], stamp: int
    ) -> None: ...
    def set_world(
        self, primitives: Sequence[Primitive], held: Sequence[AttachedObject], fixed: bool, stamp: int
    ) -> None: ...
    def set_voxels(
        self,
        cells: NDArray[np.uint8],
        origin: Sequence[float],
        resolution: float,
        fixed: bool,
        stamp: int,
    ) -> None: ...
    def forget_world(self) -> None: ...
    def set_base(self, x: float, y: float, yaw: float, stamp: int) -> None: ...
    def base_at(self, stamp: int) -> list[float] | None: ...
    def validate_bytes(self, chunk: bytes | NDArray[np.uint8], now: int) -> Verdict: ...
    def estop(self) -> None: ...
    def reset(self) -> None: ...
    def recover(self) -> bool: ...
    @property
    def gate(self) -> int: ...
    @property
    def vectorised(self) -> bool: ...
    def clearance(self, q: NDArray[np.float64], reach: float) -> list[float]: ...
    def clear(self, q: NDArray[np.float64], out: NDArray[np.bool_]) -> None: ...
    def rewritten(self) -> bytes: ...

class ViewReport:
    """What became of one view."""

    measured: int
    hit: int
    carved: int
    own: int

class Mapper:
    """What depth cameras have seen, on a lattice that stands still."""

    def __init__(
        self,
        resolution: float,
        dims: Sequence[int],
        hit: int,
        miss: int,
        low: int,
        high: int,
        share: float,
        padding: float,
    ) -> None: ...
    @property
    def origin(self) -> list[float]: ...
    @property
    def memory(self) -> int: ...
    def recentre(self, centre: Sequence[float]) -> None: ...
    def reset(self) -> None: ...
    def insert_depth(
        self,
        depth: NDArray[np.float32],
        lens: Sequence[float],
        camera: Sequence[float],
        nearest: float,
        farthest: float,
        body: NDArray[np.float64],
        held: NDArray[np.float64],
    ) -> ViewReport: ...
    def insert_points(
        self,
        points: NDArray[np.float32],
        sensor: Sequence[float],
        nearest: float,
        farthest: float,
        body: NDArray[np.float64],
        held: NDArray[np.float64],
    ) -> ViewReport: ...
    def hide(self, shapes: NDArray[np.float64], padding: float) -> None: ...
    def show(self) -> None: ...
    def assume_free(self, shapes: NDArray[np.float64], padding: float) -> None: ...
    def decay(self, shapes: NDArray[np.float64], padding: float) -> None: ...
    def occupied(self) -> NDArray[np.uint8]: ...
    def unknown(self) -> NDArray[np.uint8]: ...
