"""In-process delivery between nodes of one context: message objects without serialization."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openral.ros.node.publisher import Publisher
    from openral.ros.node.subscription import Subscription


class LocalBus:
    """Matches the publishers and subscriptions of one context by topic and QoS."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._publishers: dict[str, list[Publisher]] = {}
        self._subscriptions: dict[str, list[Subscription]] = {}

    def join(self, member: Publisher | Subscription) -> None:
        """Adds an endpoint; a new subscription receives the latched messages."""
        from openral.ros.node.publisher import Publisher

        with self._lock:
            if isinstance(member, Publisher):
                self._publishers.setdefault(member.topic, []).append(member)
            else:
                self._subscriptions.setdefault(member.topic, []).append(member)
            self._introduce(member.topic)
            if not isinstance(member, Publisher):
                for publisher in self._publishers.get(member.topic, []):
                    publisher.replay_to(member)

    def leave(self, member: Publisher | Subscription) -> None:
        """Removes an endpoint; idempotent."""
        with self._lock:
            for members in (self._publishers, self._subscriptions):
                remaining = [m for m in members.get(member.topic, ()) if m is not member]
                members[member.topic] = remaining  # type: ignore[assignment]
            self._introduce(member.topic)

    def _introduce(self, topic: str) -> None:
        subscriptions = self._subscriptions.get(topic, [])
        for publisher in self._publishers.get(topic, []):
            publisher.local = tuple(s for s in subscriptions if s.qos.accepts(publisher.qos))
        for subscription in subscriptions:
            publishers = self._publishers.get(topic, [])
            heard = sum(subscription.qos.accepts(p.qos) for p in publishers)
            subscription.local_publishers = heard
            subscription.local_incompatible = len(publishers) - heard
