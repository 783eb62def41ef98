"""Transforms between frames: broadcasters, a buffer that interpolates, and conversions."""

from openral.ros.tf.broadcaster import StaticTransformBroadcaster, TransformBroadcaster
from openral.ros.tf.buffer import Buffer
from openral.ros.tf.listener import TransformListener
from openral.ros.tf.rigid import Rigid, from_message, stamped, to_nanoseconds, to_time

__all__ = [
    "Buffer",
    "Rigid",
    "StaticTransformBroadcaster",
    "TransformBroadcaster",
    "TransformListener",
    "from_message",
    "stamped",
    "to_nanoseconds",
    "to_time",
]
