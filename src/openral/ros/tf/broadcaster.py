"""Broadcasters that publish transforms on /tf and /tf_static."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from openral.ros import msg
from openral.ros.qos import LATCHED, QoS

if TYPE_CHECKING:
    from openral.ros.node.node import Node

TF_QOS = QoS(reliable=True, depth=100)

Publish = Callable[[msg.TFMessage], object]


class TransformBroadcaster:
    """For moving frames; takes the `publish` method of a publisher on /tf."""

    def __init__(self, publish: Publish) -> None:
        self._publish = publish

    @classmethod
    def on(cls, node: Node) -> TransformBroadcaster:
        """Publishes on /tf through a node."""
        return cls(node.create_publisher(msg.TFMessage, "/tf", TF_QOS).publish)

    def send_transform(
        self, transforms: msg.TransformStamped | Iterable[msg.TransformStamped]
    ) -> None:
        """Sends one or several transforms in one message."""
        self._publish(msg.TFMessage(_as_list(transforms)))


class StaticTransformBroadcaster:
    """For fixed frames; takes the `publish` method of a latched publisher on /tf_static.

    Late joiners receive only the last message, so each message repeats all earlier transforms.
    """

    def __init__(self, publish: Publish) -> None:
        self._publish = publish
        self._sent: dict[str, msg.TransformStamped] = {}

    @classmethod
    def on(cls, node: Node) -> StaticTransformBroadcaster:
        """Publishes on /tf_static through a node."""
        return cls(node.create_publisher(msg.TFMessage, "/tf_static", LATCHED).publish)

    def send_transform(
        self, transforms: msg.TransformStamped | Iterable[msg.TransformStamped]
    ) -> None:
        """Adds transforms, replaces those of the same child frame, and sends all."""
        for transform in _as_list(transforms):
            self._sent[transform.child_frame_id] = transform
        self._publish(msg.TFMessage(list(self._sent.values())))


def _as_list(
    transforms: msg.TransformStamped | Iterable[msg.TransformStamped],
) -> list[msg.TransformStamped]:
    return [transforms] if isinstance(transforms, msg.TransformStamped) else list(transforms)
