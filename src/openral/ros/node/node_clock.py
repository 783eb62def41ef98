"""NodeClock: a node's clock, which follows /clock under `use_sim_time` and logs its silence."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from openral.ros.clock import NS, Clock, Jump, SimClock
from openral.ros.log import NodeLogger
from openral.ros.node.subscription import Subscription
from openral.ros.qos import CLOCK, QoS
from openral.ros.stamps import time_ns

CLOCK_TYPE = "rosgraph_msgs/msg/Clock"
ClockSource = Callable[[Callable[[Any], None]], Subscription]
"""Creates a subscription that calls back, inline, with each Clock message."""
SILENCE_S = 5.0
"""Wall time without /clock, in s, after which a node under `use_sim_time` logs an error."""


class ClockUser(Protocol):
    """What a clock needs of its node."""

    log: NodeLogger

    def create_subscription(
        self,
        msg_type: str,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoS,
        *,
        inline: bool,
    ) -> Subscription:
        """See `Node`."""

    def destroy_subscription(self, subscription: Subscription) -> None:
        """See `Node`."""


class NodeClock(Clock):
    """A node's clock, with its /clock subscription and a watchdog for it."""

    def __init__(self, node: ClockUser) -> None:
        super().__init__()
        self._node = node
        self._subscription: Subscription | None = None
        self._source: ClockSource = self._plain
        self._own = SimClock()
        self._own.on_jump(self._report_jump)
        self._silent = False
        self._reported_s = float("-inf")

    def use_simulated(self, wanted: bool) -> None:
        """Switches between wall and simulated time; timers restart their period."""
        if wanted and self._subscription is None:
            self._subscription = self._source(self._hear)
        elif not wanted and self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
        self.simulated = self._own if wanted else None

    def _plain(self, hear: Callable[[Any], None]) -> Subscription:
        # Received inline on the I/O thread: time advances while a callback of the node runs.
        return self._node.create_subscription(CLOCK_TYPE, "/clock", hear, CLOCK, inline=True)

    def take_from(self, source: ClockSource) -> None:
        """Takes simulated time from `source` instead of the plain /clock subscription."""
        self._source = source
        if self._subscription is not None:
            self.use_simulated(False)
            self.use_simulated(True)

    def on_jump(self, callback: Any) -> Any:
        """Calls back when simulated time goes backwards; returns a call that unregisters."""
        return self._own.on_jump(callback)

    def wait_ready(self, timeout_s: float) -> bool:
        """Waits up to `timeout_s` of wall time for the first stamp; True at once on wall time."""
        return self.simulated is None or self.simulated.wait_ready(timeout_s)

    def check(self) -> None:
        """Logs once when /clock falls silent, and once when it is back."""
        if self.simulated is None:
            return
        silent = self.simulated.silent_for_s() > SILENCE_S
        if silent and not self._silent:
            heard = "stopped" if self.simulated.ready else "was never heard"
            self._node.log.error(
                "use_sim_time is set and /clock is silent: this node's time stands still",
                clock=heard,
                for_s=round(self.simulated.silent_for_s(), 1),
            )
        elif self._silent and not silent:
            self._node.log.info("/clock is back")
        self._silent = silent

    def _hear(self, message: Any) -> None:
        self._own.update(time_ns(message.clock))

    def _report_jump(self, jump: Jump) -> None:
        """Logs a jump, rate-limited: two publishers of different times would flood the log."""
        now = time.monotonic()
        if now - self._reported_s < SILENCE_S:
            return
        self._reported_s = now
        self._node.log.warning(
            "time went backwards", from_s=jump.before_ns / NS, to_s=jump.after_ns / NS
        )
