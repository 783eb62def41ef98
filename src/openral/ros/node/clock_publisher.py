"""ClockPublisher: publishes the graph's simulated time on /clock."""

from __future__ import annotations

import threading

from openral.ros import msg
from openral.ros.node.node import Node
from openral.ros.qos import QoS
from openral.ros.stamps import time_message


class ClockPublisher:
    """Publishes /clock; created by the one node that drives the simulation."""

    def __init__(self, node: Node) -> None:
        self._node = node
        # Reliable, because that matches any reliability a subscriber requests; depth 1, because
        # only the newest stamp matters.
        self._publisher = node.create_publisher("rosgraph_msgs/msg/Clock", "/clock", QoS(depth=1))
        self._last_ns = -1
        self._lock = threading.Lock()

    def publish(self, now_ns: int) -> bool:
        """Publishes the time in ns; returns False and sends nothing unless it has advanced.

        A step back would make fresh observations look stale wherever ages are checked. Thread-safe.
        """
        message = msg.Clock(clock=time_message(now_ns))
        with self._lock:
            if now_ns <= self._last_ns:
                return False
            self._last_ns = now_ns
            self._publisher.publish(message)
        return True

    def repeat(self) -> None:
        """Republishes the last stamp, for subscribers that lost it or received another one."""
        with self._lock:
            if self._last_ns >= 0:
                clock = time_message(self._last_ns)
                self._publisher.publish(msg.Clock(clock=clock))

    def close(self) -> None:
        """Destroys the publisher on /clock."""
        self._node.destroy_publisher(self._publisher)
