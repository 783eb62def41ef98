"""In-process delivery between nodes of one context: message objects without serialization."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Protocol, TypeVar

from openral.ros.codec.types import Message
from openral.ros.qos import QoS

T = TypeVar("T")


class LocalSubscription(Protocol):
    """A subscription of this process, as the bus and publishers see it."""

    topic: str
    qos: QoS
    local_publishers: int
    local_incompatible: int

    def deliver(self, message: Message, payload: bytes | None, source: int) -> None:
        """Takes a message of a publisher of this process, from any thread."""


class LocalPublisher(Protocol):
    """A publisher of this process, as the bus sees it."""

    topic: str
    qos: QoS
    local: tuple[LocalSubscription, ...]

    def replay_to(self, subscription: LocalSubscription) -> None:
        """Delivers the latched messages to a late subscription."""


class LocalBus:
    """Matches the publishers and subscriptions of one context by topic and QoS."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._publishers: dict[str, list[LocalPublisher]] = {}
        self._subscriptions: dict[str, list[LocalSubscription]] = {}

    def add_publisher(self, publisher: LocalPublisher) -> None:
        """Shows a publisher to the subscriptions of its topic."""
        with self._lock:
            self._publishers.setdefault(publisher.topic, []).append(publisher)
            self._introduce(publisher.topic)

    def add_subscription(self, subscription: LocalSubscription) -> None:
        """Adds a subscription; it receives the latched messages."""
        with self._lock:
            self._subscriptions.setdefault(subscription.topic, []).append(subscription)
            self._introduce(subscription.topic)
            for publisher in self._publishers.get(subscription.topic, []):
                publisher.replay_to(subscription)

    def remove_publisher(self, publisher: LocalPublisher) -> None:
        """Idempotent."""
        with self._lock:
            topic = publisher.topic
            self._publishers[topic] = _without(self._publishers.get(topic, ()), publisher)
            self._introduce(topic)

    def remove_subscription(self, subscription: LocalSubscription) -> None:
        """Idempotent."""
        with self._lock:
            topic = subscription.topic
            self._subscriptions[topic] = _without(self._subscriptions.get(topic, ()), subscription)
            self._introduce(topic)

    def _introduce(self, topic: str) -> None:
        subscriptions = self._subscriptions.get(topic, [])
        for publisher in self._publishers.get(topic, []):
            publisher.local = tuple(s for s in subscriptions if s.qos.accepts(publisher.qos))
        for subscription in subscriptions:
            publishers = self._publishers.get(topic, [])
            heard = sum(subscription.qos.accepts(p.qos) for p in publishers)
            subscription.local_publishers = heard
            subscription.local_incompatible = len(publishers) - heard


def _without(members: Iterable[T], gone: T) -> list[T]:
    return [member for member in members if member is not gone]
