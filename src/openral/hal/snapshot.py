"""Snapshot: a HAL at one instant, immutable, for any thread to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openral.graph.states import HalStatus

Vector = NDArray[np.float64]


def frozen(values: ArrayLike) -> Vector:
    """A copy that nobody can change."""
    out = np.array(values, float)
    out.flags.writeable = False
    return out


_NOTHING = frozen([])


@dataclass(frozen=True, slots=True)
class Motion:
    """What is commanded: the requested beside the applied."""

    status: HalStatus = HalStatus.HOLDING
    reason: str = "connected"
    """Why it holds or has stopped: finished, expired, estop: operator, ...; empty in motion."""
    sequence: int = 0
    """Of the last chunk that was taken, 0: none."""
    trace_id: bytes = bytes(16)
    """Of the same chunk."""
    row: int = -1
    """Row of it that is being executed, -1: none."""
    requested: Vector = field(default_factory=lambda: _NOTHING)
    """The row's targets in joint space, by joint; empty for cartesian modes and torques."""
    applied: Vector = field(default_factory=lambda: _NOTHING)
    """The joint positions that the servos are told."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Joints in the manifest's order, in rad, m and s."""

    names: Sequence[str]
    positions: Vector
    velocities: Vector
    stamp_ns: int
    """When it was measured: the simulator's time if it has one, else wall time."""
    motion: Motion = field(default_factory=Motion)

    @property
    def fastest_joint(self) -> float:
        """The largest joint speed."""
        return float(np.abs(self.velocities).max(initial=0.0))
