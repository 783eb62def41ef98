"""Ports: a node's endpoints that live and end together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openral.graph.sealed import SealedPublisher, Sealer, Secret, subscribe_sealed
from openral.ros.node.node import Node
from openral.ros.node.publisher import Publisher
from openral.ros.qos import QoS


class Ports:
    """Makes publishers, subscriptions, services and timers; `close` takes all of them back."""

    def __init__(self, node: Node, key: Secret) -> None:
        """`key`: of the run, for sealed topics."""
        self.node, self._key = node, key
        self._undo: list[Callable[[], None]] = []

    def publisher(self, kind: str, topic: str, qos: QoS) -> Publisher:
        """Opens a topic for sending."""
        made = self.node.create_publisher(kind, topic, qos)
        self._undo.append(lambda: self.node.destroy_publisher(made))
        return made

    def sealed_publisher(self, kind: str, topic: str, qos: QoS) -> SealedPublisher:
        """Opens a topic for sending, with a sealed copy beside it."""
        return SealedPublisher(self.publisher, self._key, kind, topic, qos)

    def subscribe_sealed(
        self, kind: str, topic: str, hear: Callable[[Any], None], qos: QoS
    ) -> None:
        """Receives a topic's sealed copy: from its owner alone."""
        made = subscribe_sealed(self.node, self._key, kind, topic, hear, qos)
        self._undo.append(lambda: self.node.destroy_subscription(made))

    def sealer(self, topic: str) -> Sealer:
        """Signs messages of a topic."""
        return Sealer(self._key, topic)

    def subscribe(
        self, kind: str, topic: str, hear: Callable[[Any], None], qos: QoS, raw: bool = False
    ) -> None:
        """Hears a topic."""
        made = self.node.create_subscription(kind, topic, hear, qos, raw=raw)
        self._undo.append(lambda: self.node.destroy_subscription(made))

    def service(self, kind: str, name: str, answer: Callable[[Any, Any], Any]) -> None:
        """Answers calls."""
        made = self.node.create_service(kind, name, answer)
        self._undo.append(lambda: self.node.destroy_service(made))

    def wall_timer(self, period_s: float, call: Callable[[], None]) -> None:
        """Calls back every period of real time."""
        made = self.node.create_wall_timer(period_s, call)
        self._undo.append(lambda: self.node.destroy_timer(made))

    def at_end(self, call: Callable[[], None]) -> None:
        """Runs a call when the ports are closed, before those that were opened earlier."""
        self._undo.append(call)

    def close(self) -> None:
        """Takes everything back, last first; harmless the second time."""
        with self.node.context.presence.one_announcement():
            while self._undo:
                self._undo.pop()()
