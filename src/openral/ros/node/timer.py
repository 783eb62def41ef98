"""Timers and rates that follow a node's clock."""

from __future__ import annotations

from collections.abc import Callable

from openral.errors import ConfigError
from openral.ros.clock import NS, Clock, SimClock


class Timer:
    """Calls back every period of its clock; missed periods are skipped, not made up for."""

    def __init__(self, period_s: float, callback: Callable[[], None], clock: Clock) -> None:
        if not period_s > 0:
            raise ConfigError(f"timer period {period_s} s is not valid; it must be above 0")
        self.period_ns = max(1, round(period_s * NS))
        self.callback = callback
        self.clock = clock
        self.canceled = False
        self._source: SimClock | None = None
        self._next_ns = 0
        self._waits_for_time = False
        self.reset()

    @property
    def simulated(self) -> SimClock | None:
        """The simulated clock that this timer follows now, if any."""
        return self.clock.simulated

    def reset(self) -> None:
        """Restarts the period; also revives a cancelled timer."""
        self.canceled = False
        self._source = self.clock.simulated
        self._waits_for_time = not self.clock.ready
        self._next_ns = self.clock.steady_ns() + self.period_ns

    def cancel(self) -> None:
        """Stops the timer until `reset`."""
        self.canceled = True

    @property
    def next_ns(self) -> int:
        """When the next call is due, in ns of the clock's steady time."""
        return self._next_ns

    def take_due(self) -> bool:
        """Whether a call is due now; if so the next one is scheduled."""
        if self.canceled:
            return False
        if not self.clock.ready:
            self._waits_for_time = True
            return False
        now = self.clock.steady_ns()
        if self._source is not self.clock.simulated:
            self.reset()
        elif self.simulated and (self._waits_for_time or self._next_ns - now > self.period_ns):
            # Counted from the stamp itself, not from when the executor processed it.
            self._next_ns = self.simulated.began_ns + self.period_ns
        self._waits_for_time = False
        if now < self._next_ns:
            return False
        missed = (now - self._next_ns) // self.period_ns
        self._next_ns += (missed + 1) * self.period_ns
        return True


class Rate:
    """Paces a loop on the caller's own thread at a frequency of the node's clock."""

    def __init__(self, hz: float, clock: Clock) -> None:
        if not hz > 0:
            raise ConfigError(f"rate {hz} Hz is not valid; it must be above 0")
        self._period_ns = round(NS / hz)
        self._clock = clock
        self._next_ns = clock.steady_ns() + self._period_ns

    def sleep(self, timeout_s: float | None = None) -> bool:
        """Sleeps until the next tick; False if `timeout_s` of wall time passed first."""
        reached = self._clock.sleep_until_steady(self._next_ns, timeout_s)
        now = self._clock.steady_ns()
        behind = not 0 <= self._next_ns + self._period_ns - now <= self._period_ns
        self._next_ns = now + self._period_ns if behind else self._next_ns + self._period_ns
        return reached
