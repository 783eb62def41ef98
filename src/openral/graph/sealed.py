"""Sealed topics: what the kernel and the HAL rely on, signed with the run's key.

A second simulator, mapper or test program in the domain can publish on any topic. On a sealed topic
its messages are refused: they lack the run's MAC. The standard topics stay as they are, for all
other nodes. Each sealed topic has a key of its own, derived from the run's, so that a message of
one topic cannot be replayed on another.
"""

from __future__ import annotations

import hmac
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from openral.errors import CorruptMessage
from openral.ros.codec import types
from openral.ros.codec.encoder import ENCAPSULATION
from openral.ros.codec.types import Message
from openral.ros.node.node import Node
from openral.ros.node.publisher import Publisher
from openral.ros.node.subscription import Subscription
from openral.ros.qos import QoS

TYPE = "openral_msgs/msg/Sealed"
_MAC_BYTES = 32
_SIGNED = len(ENCAPSULATION) + _MAC_BYTES
_HEAD = struct.Struct("<QQI")
"""epoch, sequence, length of the payload"""
_PAYLOAD = _SIGNED + _HEAD.size


class Secret(Protocol):
    """The key of a run."""

    def reveal(self) -> bytes:
        """The secret bytes."""


def sealed_topic(topic: str) -> str:
    """Name of a topic's sealed copy; hidden by ROS convention: it is of no use without the key."""
    return f"/openral/_sealed{topic.removeprefix('/openral')}"


def _topic_key(key: Secret, topic: str) -> bytes:
    return hmac.digest(key.reveal(), sealed_topic(topic).encode(), "sha256")


class Sealer:
    """Signs the messages of one topic."""

    def __init__(self, key: Secret, topic: str) -> None:
        self._key = _topic_key(key, topic)
        self._epoch, self._sequence = time.time_ns(), 0

    def seal(self, payload: bytes) -> bytes:
        """The CDR of a Sealed around the CDR of a message."""
        self._sequence += 1
        padding = bytes(-len(payload) & 3)
        head = _HEAD.pack(self._epoch, self._sequence, len(payload))
        signed = b"".join((head, payload, padding))
        return b"".join((ENCAPSULATION, hmac.digest(self._key, signed, "sha256"), signed))


class Opener:
    """Accepts each message of a topic's owner once, in order; counts what it refuses."""

    def __init__(self, key: Secret, topic: str) -> None:
        self._key = _topic_key(key, topic)
        self._last = (0, 0)
        self.refused = 0
        """Messages without a valid seal, repeated, or older than the last."""
        self.unsealed = 0
        """Those among them without a valid seal: of another publisher, or damaged."""

    def open(self, sealed: bytes) -> bytes | None:
        """The message's CDR, or None if it is refused. Never raises on bad bytes."""
        data = bytes(sealed)
        if len(data) < _PAYLOAD or data[: len(ENCAPSULATION)] != ENCAPSULATION:
            return self._refuse(unsealed=True)
        mac = hmac.digest(self._key, data[_SIGNED:], "sha256")
        if not hmac.compare_digest(mac, data[len(ENCAPSULATION) : _SIGNED]):
            return self._refuse(unsealed=True)
        epoch, sequence, length = _HEAD.unpack_from(data, _SIGNED)
        if (epoch, sequence) <= self._last or _PAYLOAD + length > len(data):
            return self._refuse()
        self._last = (epoch, sequence)
        return data[_PAYLOAD : _PAYLOAD + length]

    def _refuse(self, unsealed: bool = False) -> bytes | None:
        self.refused += 1
        self.unsealed += unsealed
        return None


class SealedPublisher:
    """Publishes a message on its standard topic and, sealed, on the topic's sealed copy."""

    def __init__(
        self,
        make: Callable[[str, str, QoS], Publisher],
        key: Secret,
        type_name: str,
        topic: str,
        qos: QoS,
    ) -> None:
        """`make` creates a publisher, as `Node.create_publisher` does."""
        self._plain = make(type_name, topic, qos)
        self._sealed = make(TYPE, sealed_topic(topic), qos)
        self._sealer = Sealer(key, topic)
        self._lock = threading.Lock()

    @property
    def endpoints(self) -> tuple[Publisher, Publisher]:
        """The standard and the sealed publisher, for the caller to destroy."""
        return self._plain, self._sealed

    @property
    def has_subscribers(self) -> bool:
        """Whether the sealed copy has subscribers."""
        return self._sealed.has_subscribers

    def publish(self, message: Message | Callable[[], Message]) -> None:
        """Publishes it; a function is called only if a subscriber needs its result."""
        sealed = self._sealed.qos.latched or self._sealed.has_subscribers
        if not sealed:
            self._plain.publish(message)
            return
        made = message if isinstance(message, Message) else message()
        self._plain.publish(made)
        with self._lock:  # out of order, a message would be refused
            self._sealed.publish_bytes(self._sealer.seal(types.encode(made)))


def subscribe_sealed(
    node: Node,
    key: Secret,
    type_name: str,
    topic: str,
    callback: Callable[[Any], None],
    qos: QoS,
    *,
    raw: bool = False,
    inline: bool = False,
) -> Subscription:
    """Calls back for each message of the topic's owner; those of other publishers are refused.

    `raw`: with the message's CDR. `inline`: without the executor, as in `Node.create_subscription`.
    """
    opener = Opener(key, topic)

    def take(sealed: bytes) -> None:
        payload = opener.open(sealed)
        if payload is None:
            if opener.unsealed:  # a latched message that a newer one has overtaken is no attack
                node.log.error(
                    "a message without the run's seal is refused", topic=topic, once=topic
                )
            return
        try:
            callback(payload if raw else types.decode(type_name, payload))
        except CorruptMessage as error:
            node.log.error("a sealed message cannot be read", topic=topic, reason=str(error))

    return node.create_subscription(TYPE, sealed_topic(topic), take, qos, raw=True, inline=inline)
