"""SensorStream: one sensor that is measured at its rate, if anybody listens."""

from __future__ import annotations

from typing import Protocol


class SensorStream(Protocol):
    """Measures and publishes on the thread of whoever calls `take`."""

    name: str
    rate_hz: float

    @property
    def heard(self) -> bool:
        """Whether anybody listens: what nobody hears is not measured."""

    def take(self) -> None:
        """Measures once and publishes."""
