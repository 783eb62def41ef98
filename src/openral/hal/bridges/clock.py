"""/clock: gives the graph the simulation's time."""

from __future__ import annotations

from openral.hal.ports import Ports
from openral.ros.clock_publisher import ClockPublisher

_EVERY_NS = 8_000_000


class ClockBridge:
    """Tells simulated time at 125 Hz, and always before something is published with its stamp."""

    def __init__(self, ports: Ports) -> None:
        self._publisher = ClockPublisher(ports.node)
        ports.at_end(self._publisher.close)
        self._told_ns = -_EVERY_NS

    def tick(self, now_ns: int, needed: bool) -> None:
        """Told at every tick; `needed`: something with this stamp is about to be published."""
        if needed or now_ns - self._told_ns >= _EVERY_NS:
            self._publisher.publish(now_ns)
            self._told_ns = now_ns

    def repeat(self) -> None:
        """Tells the last time again."""
        self._publisher.repeat()
