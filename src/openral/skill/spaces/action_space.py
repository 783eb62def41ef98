"""ActionSpace: converts the array that a policy returns into the slots of an ActionChunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.errors import CapabilityMismatch, PolicyFailed, choices
from openral.manifest import ControlMode, RobotDescription, SkillDescription
from openral.manifest.skill import Representation, Slot
from openral.skill.spaces.slot_columns import SlotColumns, from_policy, slot_columns

Vector = NDArray[np.float64]

_MAX_ROWS = 1000
_MODES: dict[Representation, tuple[ControlMode, ...]] = {
    Representation.JOINT_POSITION: (
        ControlMode.JOINT_POSITION,
        ControlMode.JOINT_TRAJECTORY,
        ControlMode.DEX_HAND_JOINT,
    ),
    Representation.JOINT_DELTA: (ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY),
    Representation.JOINT_VELOCITY: (ControlMode.JOINT_VELOCITY,),
    Representation.JOINT_TORQUE: (ControlMode.JOINT_TORQUE,),
    Representation.EE_POSE: (ControlMode.CARTESIAN_POSE,),
    Representation.EE_DELTA: (ControlMode.CARTESIAN_DELTA,),
    Representation.EE_TWIST: (ControlMode.CARTESIAN_TWIST,),
    Representation.BASE_TWIST: (ControlMode.BODY_TWIST,),
    Representation.GRIPPER: (ControlMode.GRIPPER_BINARY, ControlMode.GRIPPER_POSITION),
}


@dataclass(frozen=True)
class SlotRows:
    """One slot of an action in SI units."""

    columns: SlotColumns
    mode: ControlMode
    data: Vector
    """Shape (rows, columns)."""

    @property
    def wire_name(self) -> str:
        """Its name in an ActionSlot: the end effector's, or empty; joints are named one by one."""
        return self.columns.effector.name if self.columns.effector else ""


class ActionSpace:
    """The action vector of one skill on one robot."""

    def __init__(self, skill: SkillDescription, robot: RobotDescription) -> None:
        """Raises CapabilityMismatch where the robot cannot execute such actions."""
        self._skill = skill
        self._slots = [_checked(slot, robot) for slot in skill.action.slots]
        driven = [name for columns in self._slots for name in columns.joints]
        for name in driven:
            if driven.count(name) > 1:
                raise CapabilityMismatch(f"joint '{name}' is driven by two slots of one action")

    @property
    def modes(self) -> frozenset[ControlMode]:
        """Control modes that a HAL must be able to execute."""
        modes = {mode_of(columns.slot) for columns in self._slots}
        return frozenset(modes | {ControlMode.COMPOSITE_MODE} if len(self._slots) > 1 else modes)

    def decode(self, answer: Any, start: Vector) -> list[SlotRows]:
        """Converts a policy's answer, shape (rows, dimension), to slots in SI units.

        Joint deltas accumulate from `start`, the joint positions (dof,) before the first row.
        Raises PolicyFailed for an invalid action: nothing of it may be published.
        """
        rows = self._table(answer)
        out, at = [], 0
        for columns in self._slots:
            part = rows[:, at : at + columns.slot.dimension]
            at += columns.slot.dimension
            data = part * columns.scale + columns.offset
            if columns.slot.representation is Representation.JOINT_DELTA:
                data = start[list(columns.indices)] + np.cumsum(data, axis=0)
            out.append(SlotRows(columns, mode_of(columns.slot), np.ascontiguousarray(data)))
        return out

    def _table(self, answer: Any) -> Vector:
        name, width = self._skill.id, self._skill.action.dimension
        try:
            rows = np.asarray(answer, float)
        except (TypeError, ValueError):
            kind = type(answer).__name__
            raise PolicyFailed(f"skill '{name}' answered with {kind}, not with numbers") from None
        if rows.ndim != 2 or rows.shape[1] != width or not 1 <= len(rows) <= _MAX_ROWS:
            raise PolicyFailed(
                f"skill '{name}' answered with shape {rows.shape}, "
                f"not (rows, {width}) with 1 to {_MAX_ROWS} rows"
            )
        rows = from_policy(self._skill.action_normalisation, rows)
        if not np.isfinite(rows).all():
            row, column = (int(v) for v in np.argwhere(~np.isfinite(rows))[0])
            raise PolicyFailed(
                f"skill '{name}' answered with {rows[row, column]} in row {row}, column {column}"
            )
        return rows


def mode_of(slot: Slot) -> ControlMode:
    """The control mode of an action's slot; a manifest without one is refused."""
    assert slot.control_mode is not None
    return slot.control_mode


def _checked(slot: Slot, robot: RobotDescription) -> SlotColumns:
    fitting = _MODES[slot.representation]
    if mode_of(slot) not in fitting:
        names = [str(mode) for mode in fitting]
        raise CapabilityMismatch(
            f"slot '{slot.name}' sends {slot.representation} as {slot.control_mode}; "
            f"{choices(str(slot.control_mode), names, 'modes')}"
        )
    return slot_columns(slot, robot)
