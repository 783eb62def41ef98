"""Snapshot: the state of a HAL at one instant, immutable, for any thread to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openral.graph.states import HalStatus

Vector = NDArray[np.float64]


def frozen(values: ArrayLike) -> Vector:
    """A read-only copy."""
    out = np.array(values, float)
    out.flags.writeable = False
    return out


_NOTHING = frozen([])


@dataclass(frozen=True, slots=True)
class CommandedMotion:
    """The present command: requested and applied targets."""

    status: HalStatus = HalStatus.HOLDING
    reason: str = "connected"
    """Why it holds or has stopped: finished, expired, estop: operator, ...; empty if executing."""
    sequence: int = 0
    """Sequence number of the last chunk that was begun; 0: none."""
    trace_id: bytes = bytes(16)
    """Trace id of the same chunk."""
    row: int = -1
    """Row that is being executed; -1: none."""
    requested: Vector = field(default_factory=lambda: _NOTHING)
    """The row's joint targets, (dof,); empty for Cartesian modes and torques."""
    applied: Vector = field(default_factory=lambda: _NOTHING)
    """The joint positions that are commanded to the servos, (dof,)."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Measured joints in the manifest's order, (dof,), in rad, m and s."""

    names: Sequence[str]
    positions: Vector
    velocities: Vector
    stamp_ns: int
    """Time of measurement in ns: the simulator's time if it has one, else wall time."""
    motion: CommandedMotion = field(default_factory=CommandedMotion)

    @property
    def fastest_joint(self) -> float:
        """The largest joint speed, in rad/s or m/s."""
        return float(np.abs(self.velocities).max(initial=0.0))
