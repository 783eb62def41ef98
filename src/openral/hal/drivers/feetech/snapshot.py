"""Measured joint state of the arm and health of its servos."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openral.hal.drivers.feetech.registers import (
    PRESENT_LOAD,
    PRESENT_TEMPERATURE,
    PRESENT_VOLTAGE,
    from_snapshot,
)


@dataclass(frozen=True)
class JointState:
    """The arm at one instant, (dof,) in the manifest's order."""

    positions: NDArray[np.float64]
    """In rad."""
    velocities: NDArray[np.float64]
    """In rad/s."""
    stamp_ns: int
    """Wall time of the measurement, in ns."""


@dataclass(frozen=True)
class ServoHealth:
    """Load, supply and temperature of a servo."""

    load: float
    """Fraction of full drive, signed in the servo's own direction."""
    voltage: float
    """Supply voltage, in V."""
    temperature: int
    """In °C."""

    def __str__(self) -> str:
        return f"load {self.load:.0%}, {self.voltage:.1f} V, {self.temperature} °C"


def health_of(block: bytes) -> ServoHealth:
    """Decodes the health in a snapshot block."""
    return ServoHealth(
        from_snapshot(PRESENT_LOAD, block) / 1000,
        from_snapshot(PRESENT_VOLTAGE, block) / 10,
        from_snapshot(PRESENT_TEMPERATURE, block),
    )
