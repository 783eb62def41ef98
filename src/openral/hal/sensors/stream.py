"""SensorStream: one sensor that is measured at its rate while it has subscribers."""

from __future__ import annotations

from typing import Protocol


class SensorStream(Protocol):
    """Measures and publishes on the thread that calls `take`."""

    name: str
    rate_hz: float

    @property
    def heard(self) -> bool:
        """Whether there are subscribers; without any, the sensor is not measured."""

    def take(self) -> None:
        """Measures once and publishes."""
