"""Leases on simulated time: a slow node slows the simulation instead of falling behind it.

A lease says how far time may advance before its holder has caught up; the simulated HAL does not
step past the earliest limit. On wall time no node holds a lease.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from openral.graph.sealed import TYPE as SEALED
from openral.graph.sealed import Sealer, Secret, sealed_topic
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.node.node import Node
from openral.ros.qos import STATE
from openral.ros.stamps import time_message

TOPIC = "/openral/time_lease"
TYPE = "openral_msgs/msg/TimeLease"
_STEP_NS = 10_000_000
"""A limit that advances by less is not worth a message."""
_REPEAT_S = 0.1
"""Period at which an unchanged lease is published again, as a sign of life of its holder."""


class LeaseHolder:
    """One node's lease. `extend` it often, from one thread only."""

    def __init__(self, node: Node, ahead_s: float, key: Secret | None = None) -> None:
        """`ahead_s`: how far past this node's own time the simulation may advance.

        With the run's key the lease is sealed: no other process can release or change it.
        """
        self._node = node
        self._ahead_ns = round(ahead_s * NS)
        self._sealer = None if key is None else Sealer(key, TOPIC)
        kind, topic = (TYPE, TOPIC) if key is None else (SEALED, sealed_topic(TOPIC))
        self._out = node.create_publisher(kind, topic, STATE)
        self._until_ns = 0
        self._sent_s = float("-inf")

    def extend(self, inputs: Mapping[str, int] | None = None) -> str:
        """Allows time to advance by `ahead_s`, but not past the time at which an input gets stale.

        `inputs`: until when each is fresh, in ns of graph time. Returns the name of the one that
        limits the lease; empty if none does.
        """
        clock = self._node.clock
        if clock.simulated is None or not clock.ready:
            return ""
        now_ns = clock.now_ns()
        until_ns, waits_for = now_ns + self._ahead_ns, ""
        for name, fresh_ns in (inputs or {}).items():
            if fresh_ns < until_ns:
                until_ns, waits_for = fresh_ns, name
        steady = time.monotonic()
        advanced = not 0 <= until_ns - self._until_ns < _STEP_NS
        if advanced or steady - self._sent_s >= _REPEAT_S:
            self._until_ns, self._sent_s = until_ns, steady
            self._publish(now_ns, until_ns, waits_for)
        return waits_for

    def release(self) -> None:
        """Simulated time no longer waits for this node."""
        if self._until_ns:
            self._until_ns, self._sent_s = 0, float("-inf")
            self._publish(self._node.now(), 0, "")

    def close(self) -> None:
        """Releases the lease and destroys its publisher."""
        self.release()
        self._node.destroy_publisher(self._out)

    def _publish(self, now_ns: int, until_ns: int, waits_for: str) -> None:
        lease = msg.TimeLease(
            header=msg.Header(stamp=time_message(now_ns)),
            holder=self._node.name,
            until=time_message(until_ns),
            waits_for=waits_for,
        )
        if self._sealer is None:
            self._out.publish(lease)
        else:
            self._out.publish_bytes(self._sealer.seal(types.encode(lease)))
