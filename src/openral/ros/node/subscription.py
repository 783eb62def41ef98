"""Subscriptions: messages of the same context arrive by reference, all others are decoded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from openral.errors import CorruptMessage
from openral.ros import names
from openral.ros.codec import types
from openral.ros.codec.types import Message
from openral.ros.node.faults import Faults
from openral.ros.node.loop import Loop
from openral.ros.node.owner import Owner
from openral.ros.qos import QoS
from openral.ros.transport.transport import EndpointSpec


class Subscription:
    """Created by `Node.create_subscription`; the callback runs in the node's executor."""

    def __init__(
        self,
        node: Owner,
        type_name: str,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoS,
        *,
        raw: bool = False,
        inline: bool = False,
    ) -> None:
        self.node = node
        self.type_name = type_name
        self.topic = topic
        self.callback = callback
        self.qos = qos
        self.raw = raw
        self.inline = inline
        """Local messages are handled on the publisher's thread (/clock needs this)."""
        self.local_publishers = 0
        self.local_incompatible = 0
        self.source = 0
        """Publisher of the message being handled; negative: one of this process."""
        self.faults = Faults(node.log, topic)
        self._queue: deque[tuple[Any, int]] = deque(maxlen=qos.depth or None)
        self._scheduled = False
        self._loop: Loop | None = None
        self._reader = node.context.transport.reader(
            EndpointSpec(
                names.topic_on_wire(topic),
                types.dds_type_name(type_name),
                qos,
                types.hash_tag(type_name),
                hears_own_process=False,
            )
        )
        self.guid = self._reader.guid
        node.context.bus.add_subscription(self)

    @property
    def publisher_count(self) -> int:
        """Matched publishers, in this process and elsewhere."""
        return self.local_publishers + self._reader.matched()

    def check(self) -> None:
        """Warns once if a publisher's QoS is incompatible with this subscription."""
        policy = self._reader.incompatible()
        if policy or self.local_incompatible:
            self.node.log.warning(
                "a publisher offers less than this subscription asks for: they do not connect",
                topic=self.topic,
                asked=str(self.qos),
                policy=policy or "reliability or durability",
                once=("qos", self.guid),
            )

    def attach(self, loop: Loop) -> None:
        """Handles messages in this loop from now on."""
        self._loop = loop
        self._scheduled = True
        loop.add_reader(self._reader, self._on_data)
        loop.post(self._drain)

    def detach(self) -> None:
        """Leaves the loop; messages stay queued."""
        if self._loop is not None:
            self._loop.remove_reader(self._reader)
            self._loop = None

    def deliver(self, message: Message, payload: bytes | None, source: int) -> None:
        """Takes a message of a publisher of the same context; thread-safe."""
        item = (payload or types.encode(message)) if self.raw else message
        if self.inline:
            self.source = source
            self.node.run_callback(self.callback, item)
            return
        self._queue.append((item, source))
        loop = self._loop
        if loop is not None and not self._scheduled:
            self._scheduled = True
            loop.post(self._drain)

    def _drain(self) -> None:
        self._scheduled = False
        while self._queue and self._loop is not None:
            item, self.source = self._queue.popleft()
            self.node.run_callback(self.callback, item)

    def _on_data(self) -> None:
        self._take_batch()

    def _take_batch(self) -> int:
        """Handles a batch; returns how many messages it had."""
        samples = self._reader.take()
        for sample in samples:
            if self.raw:
                message: Any = sample.payload
            else:
                try:
                    message = types.decode(self.type_name, sample.payload)
                except CorruptMessage as error:
                    self.faults.add(self._reader, sample.source, str(error))
                    continue
            self.source = sample.source
            self.node.run_callback(self.callback, message)
        return len(samples)

    def take_rest(self) -> None:
        """Handles what has arrived, on the calling thread; for one that has left its loop."""
        handled = 0
        while handled < self.qos.depth and (batch := self._take_batch()):
            handled += batch

    def close(self) -> None:
        """Leaves the graph; idempotent."""
        self.detach()
        self.node.context.bus.remove_subscription(self)
        self._reader.close()
