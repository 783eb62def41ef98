"""Gives the graph its simulated time."""

from __future__ import annotations

import threading

from openral.ros.codec import types
from openral.ros.node.node import Node
from openral.ros.qos import QoS
from openral.ros.stamps import time_message


class ClockPublisher:
    """Publishes /clock; made by the one node that drives the simulation."""

    def __init__(self, node: Node) -> None:
        self._node = node
        # Reliable, because that matches whatever a peer asks for; only the newest counts.
        self._publisher = node.create_publisher("rosgraph_msgs/msg/Clock", "/clock", QoS(depth=1))
        self._last_ns = -1
        self._lock = threading.Lock()

    def publish(self, now_ns: int) -> bool:
        """Tells the time; False, and nothing is sent, unless it is later than the last time told.

        A step back would make fresh observations look old to everybody who reasons about age. May
        be called on any thread.
        """
        message = types.new("rosgraph_msgs/msg/Clock", clock=time_message(now_ns))
        with self._lock:
            if now_ns <= self._last_ns:
                return False
            self._last_ns = now_ns
            self._publisher.publish(message)
        return True

    def repeat(self) -> None:
        """Tells the last time again: whoever has lost it, or was told another one, gets it back."""
        with self._lock:
            if self._last_ns >= 0:
                clock = time_message(self._last_ns)
                self._publisher.publish(types.new("rosgraph_msgs/msg/Clock", clock=clock))

    def close(self) -> None:
        """Leaves /clock to others."""
        self._node.destroy_publisher(self._publisher)
