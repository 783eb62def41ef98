"""What a servo tells about itself in one read."""

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
    """The arm at one instant, in the manifest's order."""

    positions: NDArray[np.float64]
    """Radians."""
    velocities: NDArray[np.float64]
    """Radians per second."""
    stamp_ns: int
    """Wall time of the measurement."""


@dataclass(frozen=True)
class Health:
    """How a servo fares."""

    load: float
    """Share of the full drive, signed in the servo's own direction."""
    voltage: float
    """Supply in volts."""
    temperature: int
    """Degrees Celsius."""

    def __str__(self) -> str:
        return f"load {self.load:.0%}, {self.voltage:.1f} V, {self.temperature} °C"


def health_of(block: bytes) -> Health:
    """The health in a snapshot block."""
    return Health(
        from_snapshot(PRESENT_LOAD, block) / 1000,
        from_snapshot(PRESENT_VOLTAGE, block) / 10,
        from_snapshot(PRESENT_TEMPERATURE, block),
    )
