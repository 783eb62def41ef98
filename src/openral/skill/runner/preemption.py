"""Ending a chunk before its last row: by the next chunk, or by braking along its path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from openral.manifest import ControlMode, RobotDescription
from openral.manifest.skill import Representation, Slot
from openral.skill.runner.proposed_chunk import ProposedChunk
from openral.skill.spaces.action_space import SlotRows
from openral.skill.spaces.slot_columns import ALL, slot_columns

Vector = NDArray[np.float64]

PLACES = {ControlMode.JOINT_POSITION, ControlMode.JOINT_TRAJECTORY, ControlMode.DEX_HAND_JOINT}
"""Modes whose rows are joint positions."""
_FOLLOWED = PLACES | {ControlMode.GRIPPER_POSITION}
_BRAKE_S = 0.25
_ROW_S = 0.05
_SHARE = 0.9  # of a joint's speed limit: what the kernel will surely accept


def can_preempt(
    flight: ProposedChunk, slots: Sequence[SlotRows], robot: RobotDescription, now_ns: int
) -> bool:
    """Whether the first row of `slots` can be reached in one `dt` from where `flight` is now.

    A chunk that starts early skips the rest of the one before, so its first step is longer.
    """
    left = max(0.0, (flight.end_ns - now_ns) / flight.row_ns)
    before = {name: rest for part in flight.slots for name, rest in _rest(part, flight, left)}
    for part in slots:
        if part.mode not in PLACES:
            continue
        for column, name in enumerate(part.columns.joints):
            limits = robot.joint(name).limits
            if name not in before or limits is None:
                continue
            way = abs(float(part.data[0, column]) - before[name])
            if way > _SHARE * limits.velocity * flight.dt:
                return False
    return True


def _rest(part: SlotRows, flight: ProposedChunk, left: float) -> list[tuple[str, float]]:
    """Name and position of each joint of a slot when `left` rows remain."""
    if part.mode not in PLACES:
        return []
    start = flight.start[list(part.columns.indices)]
    path = np.vstack([start, part.data])
    at = len(part.data) - left
    places = np.arange(len(path))
    return [
        (name, float(np.interp(at, places, path[:, column])))
        for column, name in enumerate(part.columns.joints)
    ]


def braking_rows(
    flight: ProposedChunk, robot: RobotDescription, positions: Vector, now_ns: int
) -> tuple[list[SlotRows], float]:
    """Slots and dt that bring the robot to rest.

    Rows of places are followed on, ever slower; in all other modes the joints stay where they are.
    """
    if any(part.mode not in _FOLLOWED for part in flight.slots):
        return [_stay(robot, positions)], _ROW_S
    factor = flight.dt / (flight.row_ns * 1e-9)  # a slowed chunk brakes from its slower pace
    elapsed = flight.elapsed_s(now_ns) * factor
    ahead = np.arange(1, round(_BRAKE_S / _ROW_S) + 1) * _ROW_S
    # Speed falls evenly from what it is to nothing.
    at = elapsed + factor * (ahead - ahead**2 / (2 * _BRAKE_S))
    return [replace(part, data=_sampled(flight, part, at)) for part in flight.slots], _ROW_S


def _sampled(flight: ProposedChunk, part: SlotRows, at: Vector) -> Vector:
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
