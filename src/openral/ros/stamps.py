"""Times of messages: builtin_interfaces/msg/Time to nanoseconds and back."""

from __future__ import annotations

from typing import Any, Protocol

from openral.ros import msg
from openral.ros.clock import NS


class Stamp(Protocol):
    """A builtin_interfaces/msg/Time."""

    sec: int
    nanosec: int


def time_ns(stamp: Stamp) -> int:
    """Nanoseconds since the epoch of the graph's clock."""
    return int(stamp.sec) * NS + int(stamp.nanosec)


def stamp_ns(message: Any) -> int:
    """When the content of a message with a header was measured, in nanoseconds."""
    return time_ns(message.header.stamp)


def time_message(ns: int) -> msg.Time:
    """Nanoseconds as builtin_interfaces/msg/Time."""
    return msg.Time(ns // NS, ns % NS)
