"""TransformListener: fills a transform buffer from /tf and /tf_static."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openral.ros import msg
from openral.ros.qos import QoS
from openral.ros.tf.broadcaster import TF_QOS
from openral.ros.tf.buffer import Buffer

if TYPE_CHECKING:
    from openral.ros.node.node import Node


class TransformListener:
    """Subscribes to /tf and /tf_static; clears its buffer when time goes backwards."""

    def __init__(self, node: Node, buffer: Buffer | None = None) -> None:
        self.buffer = buffer or Buffer()
        self._node = node
        self._subscriptions = [
            node.create_subscription(msg.TFMessage, "/tf", self.buffer.receive, TF_QOS),
            # Several nodes may each hold a latched message: the queue has room for all of them.
            node.create_subscription(
                msg.TFMessage, "/tf_static", self._receive_static, QoS(latched=True, depth=100)
            ),
        ]
        self._forget = node.clock.on_jump(lambda jump: self.buffer.clear())

    def _receive_static(self, message: msg.TFMessage) -> None:
        self.buffer.receive(message, static=True)

    def close(self) -> None:
        """Closes the subscriptions; the buffer keeps its content."""
        self._forget()
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
