"""Recorder: records topics of a live graph, including those that appear later."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Protocol

from openral.errors import UnknownType
from openral.ros.codec.types import type_name
from openral.ros.graph import Graph, TopicEntry
from openral.ros.qos import QoS

if TYPE_CHECKING:
    from openral.ros.node.node import Node
    from openral.ros.node.subscription import Subscription

# Queue depth in messages: enough for a burst that arrives while Python is busy elsewhere.
_DEPTH = 1000


class Sink(Protocol):
    """A BackgroundWriter, or a RecordingWriter where the caller may wait for the disk."""

    def add_topic(self, topic: str, type_name: str, qos: QoS) -> None:
        """Declares a topic with its offered QoS."""

    def write(
        self, topic: str, type_name: str, data: bytes, log_time: int, publish_time: int
    ) -> None:
        """Takes one message as CDR bytes; times in ns."""


class Recorder:
    """Subscribes through a node to the requested topics and passes their bytes to a writer.

    Call `look` periodically (e.g. from a timer): it finds new topics, and resubscribes where the
    QoS that all publishers offer has changed. `topics` None records all but hidden ones; `exclude`
    is a regular expression of topics to leave out; `now` returns the log time in ns.
    """

    def __init__(
        self,
        node: Node,
        writer: Sink,
        topics: Collection[str] | None = None,
        exclude: str | None = None,
        now: Callable[[], int] | None = None,
    ) -> None:
        self.subscriptions: dict[str, Subscription] = {}
        self.skipped: dict[str, str] = {}
        """Topics that cannot be recorded, and why."""
        self._node, self._writer = node, writer
        self._topics = None if topics is None else {node.resolve(topic) for topic in topics}
        self._exclude = re.compile(exclude) if exclude else None
        self._now = now or node.now
        self._graph = Graph(node.context)

    @property
    def missing(self) -> list[str]:
        """Topics that were requested by name and have not appeared."""
        return sorted((self._topics or set()) - self.subscriptions.keys() - self.skipped.keys())

    def look(self) -> None:
        """Subscribes to topics that have appeared since the last call."""
        found = [e for e in self._graph.topics() if e.publishers and self._wanted(e.name)]
        if any(entry.name not in self.subscriptions for entry in found):
            with self._node.context.presence.batch_announcements():
                self._subscribe_all(found)
        else:
            self._subscribe_all(found)

    def _subscribe_all(self, entries: list[TopicEntry]) -> None:
        for entry in entries:
            self._subscribe(entry)

    def take_rest(self) -> None:
        """Records what has arrived; call it when the node has left its loop."""
        for subscription in self.subscriptions.values():
            subscription.take_rest()

    def close(self) -> None:
        """Closes all subscriptions."""
        with self._node.context.presence.batch_announcements():
            for subscription in self.subscriptions.values():
                self._node.destroy_subscription(subscription)
        self._graph.close()

    def _wanted(self, topic: str) -> bool:
        if topic in self.skipped or (self._exclude and self._exclude.search(topic)):
            return False
        return "/_" not in topic if self._topics is None else topic in self._topics

    def _subscribe(self, entry: TopicEntry) -> None:
        try:
            kind = type_name(entry.publishers[0].type_name)
        except UnknownType as error:
            self.skipped[entry.name] = str(error)
            self._node.log.warning("topic cannot be recorded", topic=entry.name, reason=str(error))
            return
        qos = entry.common_qos(_DEPTH)
        known = self.subscriptions.get(entry.name)
        if known is not None:
            if known.qos == qos:
                return
            self._node.destroy_subscription(known)
        self._writer.add_topic(entry.name, kind, entry.publishers[0].qos)

        def write(data: bytes, topic: str = entry.name) -> None:
            now = self._now()
            self._writer.write(topic, kind, data, now, now)

        self.subscriptions[entry.name] = self._node.create_subscription(
            kind, entry.name, write, qos, raw=True
        )
