"""Plans an ActionChunk: converts its slots to executable parts, or refuses it with the reason."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.errors import CapabilityMismatch, ConfigError, choices
from openral.hal.execution import slot_trajectories
from openral.hal.execution.slot_trajectories import SlotTrajectory
from openral.hal.execution.tool_ik import ToolIK
from openral.manifest import ControlMode, RobotDescription
from openral.manifest.joint import JointRole
from openral.manifest.parts import EndEffector

Matrix = NDArray[np.float64]

MAX_DT_S = 10.0
_MODES = list(ControlMode)
_JOINT_MODES: dict[
    ControlMode, Callable[[slot_trajectories.Columns, Matrix, float], SlotTrajectory]
] = {
    ControlMode.JOINT_POSITION: slot_trajectories.JointPath,
    ControlMode.JOINT_TRAJECTORY: slot_trajectories.JointPath,
    ControlMode.DEX_HAND_JOINT: slot_trajectories.JointPath,
    ControlMode.JOINT_VELOCITY: slot_trajectories.JointRates,
    ControlMode.JOINT_TORQUE: slot_trajectories.JointTorques,
}


@dataclass(frozen=True)
class ChunkPlan:
    """A chunk that is ready to be executed; `dt` in s."""

    parts: tuple[SlotTrajectory, ...]
    dt: float
    rows: int
    sequence: int
    trace_id: bytes

    @property
    def seconds(self) -> float:
        """Duration, in s."""
        return self.rows * self.dt


class Planner:
    """Plans chunks for a robot, in the control modes that its HAL can execute."""

    def __init__(self, robot: RobotDescription, modes: Set[ControlMode]) -> None:
        self._robot = robot
        self._modes = modes
        self._column = {name: i for i, name in enumerate(robot.joint_names)}
        self._ik = cache(lambda name: ToolIK(robot, self._effectors[name]))
        self._effectors = {effector.name: effector for effector in robot.end_effectors}

    def plan(self, chunk: Any) -> ChunkPlan:
        """Plans the whole chunk or raises an error that names the offender."""
        if not (np.isfinite(chunk.dt) and 1e-5 < chunk.dt <= MAX_DT_S):
            raise ConfigError(f"dt {chunk.dt:g} s of a chunk is not within (0, {MAX_DT_S:g}]")
        if chunk.rows < 1 or not chunk.slots:
            text = f"{chunk.rows} rows in {len(chunk.slots)} slots"
            raise ConfigError(f"a chunk needs a row and a slot; it has {text}")
        whole = self._mode(chunk.control_mode, "chunk")
        if whole is not ControlMode.COMPOSITE_MODE and len(chunk.slots) > 1:
            raise ConfigError(f"mode {whole} with {len(chunk.slots)} slots; use composite_mode")
        found: list[SlotTrajectory] = []
        for slot in chunk.slots:
            mode = self._mode(slot.control_mode, f"slot '{slot.name}'")
            if whole not in (ControlMode.COMPOSITE_MODE, mode):
                raise ConfigError(f"slot '{slot.name}' is {mode} in a chunk of {whole}")
            found.append(self._part(slot, mode, chunk.rows, chunk.dt))
        self._require_apart(found)
        trace = bytes(bytearray(chunk.trace_id))
        return ChunkPlan(tuple(found), chunk.dt, chunk.rows, chunk.sequence, trace)

    def _mode(self, byte: int, where: str) -> ControlMode:
        if not 0 <= byte < len(_MODES):
            raise ConfigError(f"{where}: no control mode {byte}; modes: 0 to {len(_MODES) - 1}")
        mode = _MODES[byte]
        if mode not in self._modes:
            able = [str(m) for m in _MODES if m in self._modes]
            text = choices(str(mode), able, "it can execute")
            raise CapabilityMismatch(
                f"{where}: the HAL of '{self._robot.id}' cannot execute {mode}; {text}"
            )
        return mode

    def _part(self, slot: Any, mode: ControlMode, rows: int, dt: float) -> SlotTrajectory:
        if mode in _JOINT_MODES:
            columns = self._joints(slot, mode)
            return _JOINT_MODES[mode](columns, self._rows(slot, rows, len(columns)), dt)
        if mode is ControlMode.BODY_TWIST:
            names = self._robot.base_joints
            base = np.array([self._column[name] for name in names], dtype=int)
            return slot_trajectories.BodyTwist(base, self._rows(slot, rows, 3), dt)
        if mode.is_gripper:
            return self._grip(slot, mode, rows, dt)
        if mode.is_cartesian:
            return self._tool(slot, mode, rows, dt)
        raise CapabilityMismatch(f"slot '{slot.name}': {mode} cannot be executed")

    def _rows(self, slot: Any, rows: int, width: int) -> Matrix:
        data = np.array(slot.data, float)
        if slot.width != width or data.size != rows * width:
            raise ConfigError(
                f"slot '{slot.name}' has width {slot.width} and {data.size} numbers; "
                f"{rows} rows of {width} are {rows * width}"
            )
        if not np.isfinite(data).all():
            raise ConfigError(f"slot '{slot.name}' holds a number that is not finite")
        return data.reshape(rows, width)

    def _joints(self, slot: Any, mode: ControlMode) -> slot_trajectories.Columns:
        names = list(slot.joint_names)
        if not names and not slot.name:
            names = list(self._column)
        elif not names:
            roles = {str(joint.role) for joint in self._robot.driven}
            if slot.name not in roles:
                text = choices(slot.name, sorted(roles), "groups")
                raise ConfigError(f"no group of joints '{slot.name}'; {text}")
            names = [joint.name for joint in self._robot.driven if str(joint.role) == slot.name]
        for name in names:
            if name not in self._column:
                raise ConfigError(f"no joint '{name}'; {choices(name, self._column, 'joints')}")
            role = self._robot.joint(name).role
            if mode is ControlMode.DEX_HAND_JOINT and role not in (
                JointRole.HAND,
                JointRole.GRIPPER,
            ):
                raise ConfigError(f"joint '{name}' is part of the {role}, not of a hand")
        return np.array([self._column[name] for name in names], dtype=int)

    def _effector(self, slot: Any) -> EndEffector:
        name = slot.name
        if not name and len(self._effectors) == 1:
            name = next(iter(self._effectors))
        if name not in self._effectors:
            text = choices(name, self._effectors, "end effectors")
            raise ConfigError(f"no end effector '{name}'; {text}")
        return self._effectors[name]

    def _grip(self, slot: Any, mode: ControlMode, rows: int, dt: float) -> SlotTrajectory:
        effector = self._effector(slot)
        if effector.gripper is None:
            raise ConfigError(f"end effector '{effector.name}' has no gripper")
        data = self._rows(slot, rows, 1)
        if mode is ControlMode.GRIPPER_BINARY:
            closed, opened = gripper_ends(self._robot, effector)
            data = closed + np.clip(data, 0.0, 1.0).round() * (opened - closed)
        column = np.array([self._column[effector.gripper]], dtype=int)
        return slot_trajectories.Grip(column, data, dt)

    def _tool(self, slot: Any, mode: ControlMode, rows: int, dt: float) -> SlotTrajectory:
        effector = self._effector(slot)
        absolute = mode is ControlMode.CARTESIAN_POSE
        data = self._rows(slot, rows, 7 if absolute else 6)
        frames = ["", self._robot.base_frame]
        if not absolute:
            frames += [effector.name, effector.link]
        if slot.frame_id not in frames:
            text = choices(slot.frame_id, frames[1:], "frames")
            raise ConfigError(f"slot '{slot.name}': no frame '{slot.frame_id}'; {text}")
        if absolute:
            lengths = np.linalg.norm(data[:, 3:], axis=1)
            if (np.abs(lengths - 1.0) > 1e-3).any():
                worst = lengths[np.argmax(np.abs(lengths - 1.0))]
                raise ConfigError(f"slot '{slot.name}': a quaternion of length {worst:g}, not 1")
        if mode is ControlMode.CARTESIAN_TWIST:
            data = data * dt
        in_tool = slot.frame_id in frames[2:]
        ik = self._ik(effector.name)
        return slot_trajectories.ToolPath(ik, data, dt, absolute=absolute, in_tool=in_tool)

    def _require_apart(self, found: list[SlotTrajectory]) -> None:
        """Refuses a joint in two slots: slots are applied together."""
        names = list(self._column)
        taken: set[int] = set()
        for part in found:
            columns = [int(column) for column in part.columns]
            clash = [names[c] for c in columns if c in taken or columns.count(c) > 1]
            if clash:
                raise ConfigError(f"joint '{clash[0]}' is driven twice in one chunk")
            taken.update(columns)


def gripper_ends(robot: RobotDescription, effector: EndEffector) -> tuple[float, float]:
    """A gripper's closed and open positions in rad or m: closed is the limit nearer to zero."""
    assert effector.gripper is not None
    ends = robot.joint(effector.gripper).position_range
    return min(ends, key=abs), max(ends, key=abs)
