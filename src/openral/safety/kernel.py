"""The safety kernel's Python class; the checks themselves are in C++."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openral import _core
from openral.errors import ConfigError
from openral.graph.attached_object import AttachedObject
from openral.graph.obstacles import Obstacle, VoxelGrid
from openral.manifest.robot import RobotDescription
from openral.ros.codec.message import Message
from openral.ros.codec.types import registry
from openral.safety.robot_model import link_order, robot_model

Verdict = _core.Verdict
Joints = Mapping[str, float] | ArrayLike


class BasePlace(NamedTuple):
    """A pose of the base in the odometry frame (m, rad), and bounds of its error."""

    x: float
    y: float
    yaw: float
    shift: float
    """Bound of the position error, in m."""
    turn: float
    """Bound of the yaw error, in rad."""


class Gate(Enum):
    """Whether any motion can be accepted."""

    READY = 0
    STOPPED = 1
    RECOVERING = 2


class Kernel:
    """The one gate between a proposed motion and the motors of one robot.

    Stamps and `now` are ns on the graph's clock; a stamp is the time of measurement. One thread
    validates; the setters may run on other threads. `validate_bytes(buffer, now)` takes the CDR of
    an openral_msgs/msg/ActionChunk and is the fast path.
    """

    def __init__(
        self,
        robot: RobotDescription,
        *,
        requires_world: bool | None = None,
        requires_voxels: bool | None = None,
        warn_only: bool = False,
        simulated: bool = False,
        scalar_only: bool = False,
        stall_s: float = 2.0,
    ) -> None:
        if warn_only and not simulated:
            raise ConfigError("warn_only lets refused motions pass: only a simulation may set it")
        if warn_only:
            warnings.warn(
                f"safety kernel of '{robot.id}' only warns: unsafe motions will be executed",
                RuntimeWarning,
                stacklevel=2,
            )
        safety = robot.safety
        self.robot = robot
        self.estop_reason: str | None = None
        self._index = {name: i for i, name in enumerate(robot.joint_names)}
        self._links = link_order(robot)
        try:
            self._core = _core.Kernel(
                robot_model(robot),
                scalar_only=scalar_only,
                warn_only=warn_only,
                needs_world=safety.requires_world if requires_world is None else requires_world,
                needs_voxels=safety.requires_voxels if requires_voxels is None else requires_voxels,
                stall_ns=round(stall_s * 1e9),
            )
        except ValueError as error:
            raise ConfigError(f"robot '{robot.id}': {error}") from error
        self.validate_bytes = self._core.validate_bytes

    def set_state(self, q: Joints, qd: Joints | None = None, stamp_ns: int = 0) -> None:
        """Sets the measured joint positions `q` and velocities `qd`, in rad, m and s.

        By name, or of shape (dof,) in the manifest's order. By name, joints of other robots are
        ignored; a missing joint leaves the state incomplete, and motion is dropped until a complete
        state arrives. Without `qd` all velocities are 0.
        """
        position = self._joints(q)
        velocity = np.zeros(len(self._index)) if qd is None else self._joints(qd)
        self._core.set_state(position, velocity, stamp_ns)

    def set_world(
        self,
        obstacles: Iterable[Obstacle],
        stamp_ns: int,
        held: Iterable[AttachedObject] = (),
        fixed: bool = False,
    ) -> None:
        """Sets all known obstacles and attached objects; replaces the previous ones.

        Obstacles are in the base frame as of the stamp, or with `fixed` in the odometry frame.
        An attached object moves with its link and is checked like one.
        """
        primitives = [o.primitive() for o in obstacles]
        try:
            in_hand = [h.in_kernel(self._links) for h in held]
            self._core.set_world(primitives, in_hand, fixed, stamp_ns)
        except ValueError as error:
            raise ConfigError(str(error)) from error

    def forget_world(self) -> None:
        """Returns to the state in which no obstacles were ever received."""
        self._core.forget_world()

    def set_voxels(self, grid: VoxelGrid, stamp_ns: int) -> None:
        """Sets the occupied voxels; for their frame see `VoxelGrid.fixed`.

        Rebuilds the distance field on the calling thread, without the GIL.
        """
        try:
            self._core.set_voxels(grid.bytes(), grid.origin, grid.resolution, grid.fixed, stamp_ns)
        except ValueError as error:
            raise ConfigError(str(error)) from error

    def set_base(self, pose: tuple[float, float, float], stamp_ns: int) -> None:
        """Sets the base's x, y (m) and yaw (rad) in the odometry frame."""
        try:
            self._core.set_base(*pose, stamp_ns)
        except ValueError as error:
            raise ConfigError(str(error)) from error

    def base_at(self, stamp_ns: int) -> BasePlace | None:
        """The base's pose at a time, by odometry; None before odometry was received."""
        found = self._core.base_at(stamp_ns)
        return None if found is None else BasePlace(*found)

    def validate(self, chunk: Message, now_ns: int) -> Verdict:
        """The verdict on an ActionChunk; a refusal latches the stop."""
        return self.validate_bytes(registry.encode(chunk), now_ns)

    def action(self, candidate: bytes, verdict: Verdict) -> bytes:
        """The CDR of the chunk that the last verdict allows to be executed.

        Usually the candidate's own bytes. Cartesian slots are replaced by the joint rows that were
        proven, and a slowed chunk has its `dt` stretched and its velocities scaled so that it keeps
        its path; a HAL must execute this chunk and no other.
        """
        return self._core.rewritten() if verdict.rewritten else candidate

    def estop(self, reason: str) -> None:
        """Latches the stop; nothing passes until `reset` or `recover`."""
        self.estop_reason = reason
        self._core.estop()

    def reset(self) -> None:
        """Clears the stop; the next motion starts from the measured pose, as every motion does."""
        self.estop_reason = None
        self._core.reset()

    def recover(self) -> None:
        """After a stop, accepts slow motion out of the margin; once outside, normal operation."""
        if not self._core.recover():
            raise ConfigError(f"recovery starts from a stop; the kernel is {self.gate.name}")
        self.estop_reason = None

    @property
    def gate(self) -> Gate:
        """Whether any motion can be accepted."""
        return Gate(self._core.gate)

    @property
    def vectorised(self) -> bool:
        """Whether the AVX2 code is in use."""
        return self._core.vectorised

    def clearance(self, q: Joints, reach: float = 0.5) -> tuple[float, float]:
        """Least distances to the world and between links at configuration `q`, capped at `reach`.

        All in m.
        """
        world, own = self._core.clearance(self._joints(q), reach)
        return world, own

    def clear(self, configurations: ArrayLike) -> NDArray[np.bool_]:
        """Which configurations, of shape (n, dof) in the manifest's order, keep the margins.

        The margins to other links and to the obstacles and voxels last set, whatever their age.
        Static configurations: without motion between them and without tracking error.
        """
        rows = np.ascontiguousarray(configurations, np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self._index):
            raise ConfigError(
                f"configurations of shape {rows.shape}: robot '{self.robot.id}' takes rows of "
                f"{len(self._index)} joint positions"
            )
        out = np.zeros(len(rows), bool)
        self._core.clear(rows, out)
        return out

    def _joints(self, values: Joints) -> NDArray[np.float64]:
        if not isinstance(values, Mapping):
            return np.ascontiguousarray(values, np.float64)
        out = np.full(len(self._index), np.nan)
        for name, value in values.items():
            if (i := self._index.get(name)) is not None:
                out[i] = value
        return out
