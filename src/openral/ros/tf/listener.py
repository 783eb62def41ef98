"""Fills a buffer from the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openral.ros import msg
from openral.ros.qos import QoS
from openral.ros.tf.broadcaster import TF_QOS
from openral.ros.tf.buffer import Buffer

if TYPE_CHECKING:
    from openral.ros.node.node import Node


class TransformListener:
    """Hears /tf and /tf_static through a node; its buffer forgets when time goes backwards."""

    def __init__(self, node: Node, buffer: Buffer | None = None) -> None:
        self.buffer = buffer or Buffer()
        self._node = node
        self._subscriptions = [
            node.create_subscription(msg.TFMessage, "/tf", self.buffer.receive, TF_QOS),
            # Several nodes may each keep a latched message: room for all of them.
            node.create_subscription(
                msg.TFMessage, "/tf_static", self._receive_static, QoS(latched=True, depth=100)
            ),
        ]
        self._forget = node.clock.on_jump(lambda jump: self.buffer.clear())

    def _receive_static(self, message: msg.TFMessage) -> None:
        self.buffer.receive(message, static=True)

    def close(self) -> None:
        """Stops listening; the buffer keeps what it has."""
        self._forget()
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
