"""/clock: publishes the simulation's time for the graph."""

from __future__ import annotations

from openral.graph.ports import Ports
from openral.graph.sealed import TYPE, sealed_topic
from openral.ros import msg
from openral.ros.codec import types
from openral.ros.node.clock_publisher import ClockPublisher
from openral.ros.qos import QoS
from openral.ros.stamps import time_message

TOPIC = "/clock"
_EVERY_NS = 8_000_000


class ClockBridge:
    """Publishes simulated time at 125 Hz, and always before a message that carries its stamp."""

    def __init__(self, ports: Ports) -> None:
        self._publisher = ClockPublisher(ports.node)
        ports.at_end(self._publisher.close)
        self._sealer = ports.sealer(TOPIC)
        self._sealed = ports.publisher(TYPE, sealed_topic(TOPIC), QoS(depth=1))
        self._told_ns = -_EVERY_NS

    def tick(self, now_ns: int, needed: bool) -> None:
        """Call at every tick; `needed`: a message with this stamp is about to be published."""
        if needed or now_ns - self._told_ns >= _EVERY_NS:
            self._publisher.publish(now_ns)
            self._told_ns = now_ns
            self._publish_sealed()

    def repeat(self) -> None:
        """Publishes the last time again: a node that waits for it may have missed it."""
        self._publisher.repeat()
        self._publish_sealed()

    def _publish_sealed(self) -> None:
        if self._told_ns >= 0 and self._sealed.has_subscribers:
            message = msg.Clock(clock=time_message(self._told_ns))
            self._sealed.publish_bytes(self._sealer.seal(types.encode(message)))
