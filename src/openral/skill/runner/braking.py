"""Brakes a skill's motion before its last row, along the path that was proven clear."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from openral.manifest import ControlMode, RobotDescription
from openral.manifest.skill import Representation, Slot
from openral.skill.runner.flight import Flight
from openral.skill.spaces.action_space import SlotRows
from openral.skill.spaces.slot_columns import ALL, slot_columns

Vector = NDArray[np.float64]

_BRAKE_S = 0.25
_ROW_S = 0.05
_PLACES = {
    ControlMode.JOINT_POSITION,
    ControlMode.JOINT_TRAJECTORY,
    ControlMode.DEX_HAND_JOINT,
    ControlMode.GRIPPER_POSITION,
}


def braking_rows(
    flight: Flight, robot: RobotDescription, positions: Vector, now_ns: int
) -> tuple[list[SlotRows], float]:
    """Slots and dt in s of a chunk that brings the robot to rest.

    Position rows are followed further at decreasing speed; in all other modes the joints hold
    `positions`, the measured ones (dof,).
    """
    if any(part.mode not in _PLACES for part in flight.slots):
        return [_stay(robot, positions)], _ROW_S
    factor = flight.dt / (flight.row_ns * 1e-9)  # a slowed chunk brakes from its lower speed
    elapsed = flight.elapsed_s(now_ns) * factor
    ahead = np.arange(1, round(_BRAKE_S / _ROW_S) + 1) * _ROW_S
    # Speed falls linearly from its present value to zero.
    at = elapsed + factor * (ahead - ahead**2 / (2 * _BRAKE_S))
    return [replace(part, data=_sampled(flight, part, at)) for part in flight.slots], _ROW_S


def _sampled(flight: Flight, part: SlotRows, at: Vector) -> Vector:
    start = flight.start[list(part.columns.indices)]
    path = np.vstack([start, part.data])
    times = np.arange(len(path)) * flight.dt
    columns = [np.interp(at, times, path[:, column]) for column in range(path.shape[1])]
    return np.ascontiguousarray(np.array(columns).T)


def _stay(robot: RobotDescription, positions: Vector) -> SlotRows:
    mode = ControlMode.JOINT_POSITION
    slot = Slot(
        name=ALL,
        representation=Representation.JOINT_POSITION,
        dimension=len(positions),
        control_mode=mode,
    )
    return SlotRows(slot_columns(slot, robot), mode, positions[None].copy())
