"""Ports: a group of a node's endpoints and timers that are closed together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openral.graph.sealed import SealedPublisher, Sealer, Secret, subscribe_sealed
from openral.ros.node.node import Node
from openral.ros.node.publisher import Publisher
from openral.ros.qos import QoS


class Ports:
    """Creates publishers, subscriptions, services and timers; `close` destroys all of them."""

    def __init__(self, node: Node, key: Secret) -> None:
        """`key`: the run's key, for sealed topics."""
        self.node, self._key = node, key
        self._undo: list[Callable[[], None]] = []

    def publisher(self, kind: str, topic: str, qos: QoS) -> Publisher:
        """Creates a publisher."""
        made = self.node.create_publisher(kind, topic, qos)
        self._undo.append(lambda: self.node.destroy_publisher(made))
        return made

    def sealed_publisher(self, kind: str, topic: str, qos: QoS) -> SealedPublisher:
        """Creates a publisher that also sends a sealed copy of each message."""
        return SealedPublisher(self.publisher, self._key, kind, topic, qos)

    def subscribe_sealed(
        self, kind: str, topic: str, hear: Callable[[Any], None], qos: QoS
    ) -> None:
        """Subscribes to a topic's sealed copy: messages of its owner only."""
        made = subscribe_sealed(self.node, self._key, kind, topic, hear, qos)
        self._undo.append(lambda: self.node.destroy_subscription(made))

    def sealer(self, topic: str) -> Sealer:
        """Creates a signer for a topic's messages."""
        return Sealer(self._key, topic)

    def subscribe(
        self, kind: str, topic: str, hear: Callable[[Any], None], qos: QoS, raw: bool = False
    ) -> None:
        """Subscribes to a topic; `raw`: the callback gets the message's CDR."""
        made = self.node.create_subscription(kind, topic, hear, qos, raw=raw)
        self._undo.append(lambda: self.node.destroy_subscription(made))

    def service(self, kind: str, name: str, answer: Callable[[Any, Any], Any]) -> None:
        """Creates a service."""
        made = self.node.create_service(kind, name, answer)
        self._undo.append(lambda: self.node.destroy_service(made))

    def wall_timer(self, period_s: float, call: Callable[[], None]) -> None:
        """Creates a timer on wall time."""
        made = self.node.create_wall_timer(period_s, call)
        self._undo.append(lambda: self.node.destroy_timer(made))

    def at_end(self, call: Callable[[], None]) -> None:
        """Registers a call for `close`; it runs before earlier ports are closed."""
        self._undo.append(call)

    def close(self) -> None:
        """Destroys everything, last first; harmless the second time."""
        with self.node.context.presence.batch_announcements():
            while self._undo:
                self._undo.pop()()
