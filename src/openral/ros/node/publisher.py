"""Publishers: by reference to nodes of the same context, serialized to all others."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable

from openral.errors import ConfigError
from openral.ros import names
from openral.ros.codec import types
from openral.ros.codec.types import Message
from openral.ros.node.local_bus import LocalSubscription
from openral.ros.node.owner import Owner
from openral.ros.qos import QoS
from openral.ros.transport.transport import EndpointSpec

_HEARD_FOR_S = 0.02
_numbers = itertools.count(1)


class Publisher:
    """Created by `Node.create_publisher`. Don't modify a message once it is published."""

    def __init__(self, node: Owner, type_name: str, topic: str, qos: QoS) -> None:
        self.node = node
        self.type_name = type_name
        self.topic = topic
        self.qos = qos
        self.local: tuple[LocalSubscription, ...] = ()
        self.source = -next(_numbers)
        """Id of this publisher in local subscriptions; sources on the wire are positive."""
        self._heard_until = 0.0
        self._kept: deque[Message] = deque(maxlen=qos.depth if qos.latched else 0)
        self._writer = node.context.transport.writer(
            EndpointSpec(
                names.topic_on_wire(topic),
                types.dds_type_name(type_name),
                qos,
                types.hash_tag(type_name),
            )
        )
        self.guid = self._writer.guid
        node.context.bus.add_publisher(self)

    @property
    def subscriber_count(self) -> int:
        """Matched subscriptions, in this process and elsewhere."""
        return len(self.local) + self._writer.matched()

    @property
    def has_subscribers(self) -> bool:
        """Whether any subscription is matched: check it before building a costly message."""
        return bool(self.local) or self._writer.matched() > 0

    def publish(self, message: Message | Callable[[], Message]) -> None:
        """Sends a message; a function that builds one is called only if a subscription needs it.

        Latched publishers always build and keep the message, for late joiners.
        """
        local = self.local
        by_wire = self.qos.latched or self._is_heard()
        if not local and not by_wire:
            return
        made = message if isinstance(message, Message) else message()
        if made.__ros_type__ != self.type_name:
            raise ConfigError(f"'{self.topic}' carries {self.type_name}, not {made.__ros_type__}")
        payload = types.encode(made) if by_wire else None
        if self.qos.latched:
            self._kept.append(made)
        for subscription in local:
            subscription.deliver(made, payload, self.source)
        if payload is not None:
            self._writer.write(payload)

    def _is_heard(self) -> bool:
        """Whether DDS has matched a reader; a yes is cached, as asking costs a small message."""
        now = time.monotonic()
        if now > self._heard_until:
            if not self._writer.matched():
                return False
            self._heard_until = now + _HEARD_FOR_S
        return True

    def publish_bytes(self, payload: bytes) -> None:
        """Sends CDR bytes, header included, as they are: for recordings and for peers' tests."""
        if self.local:
            made = types.decode(self.type_name, payload)
            for subscription in self.local:
                subscription.deliver(made, payload, self.source)
        self._writer.write(payload)

    def replay_to(self, subscription: LocalSubscription) -> None:
        """Delivers a latched publisher's kept messages to a late local subscription."""
        if self.qos.latched and subscription.qos.latched and subscription.qos.accepts(self.qos):
            for message in self._kept:
                subscription.deliver(message, None, self.source)

    def close(self) -> None:
        """Leaves the graph; idempotent."""
        self.node.context.bus.remove_publisher(self)
        self._writer.close()
