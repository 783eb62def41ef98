"""Clocks: wall time or simulated time from /clock, never a mix within a node."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

NS = 1_000_000_000
_OVERTAKEN_NS = NS // 4


@dataclass(frozen=True)
class Jump:
    """Simulated time went backwards."""

    before_ns: int
    after_ns: int


class SimClock:
    """Simulated time as received on /clock; all stamps are in ns."""

    def __init__(self) -> None:
        self._now_ns: int | None = None
        self._told_ns = 0
        """The last stamp of /clock itself; `advance` may have moved the time beyond it."""
        self.began_ns = 0
        """The first stamp since the start or since time last went backwards."""
        self._heard_at = time.monotonic()
        self._changed = threading.Condition()
        self._jump_callbacks: list[Callable[[Jump], None]] = []
        self._alarms: dict[object, tuple[int, Callable[[], None]]] = {}

    @property
    def ready(self) -> bool:
        """Whether a first stamp has been received."""
        return self._now_ns is not None

    def now_ns(self) -> int:
        """The last stamp; 0 before the first, as in ROS."""
        return self._now_ns or 0

    def silent_for_s(self) -> float:
        """Wall time in s since the stamp last changed, or since this clock was created."""
        return time.monotonic() - self._heard_at

    def update(self, now_ns: int) -> None:
        """Takes a stamp; wakes sleepers and alarms and, if time went back, calls jump callbacks."""
        with self._changed:
            before, told = self._now_ns, self._told_ns
            went_back = before is not None and now_ns < told
            self._told_ns = now_ns
            if before is not None and not went_back:
                now_ns = max(now_ns, before)
            calls = self._set(now_ns, went_back)
        if went_back and before is not None:
            for callback in list(self._jump_callbacks):
                callback(Jump(before, now_ns))
        for call in calls:
            call()

    def advance(self, now_ns: int) -> None:
        """Advances to a stamp that the clock's owner put on another message.

        Such a message can overtake /clock, but by at most 0.25 s: stamps further ahead are ignored.
        """
        with self._changed:  # a stamp of /clock itself may come on another thread meanwhile
            if not self.ready or not 0 < now_ns - self.now_ns() <= _OVERTAKEN_NS:
                return
            calls = self._set(now_ns, went_back=False)
        for call in calls:
            call()

    def _set(self, now_ns: int, went_back: bool) -> list[Callable[[], None]]:
        """Under the lock; returns the alarms that are due."""
        before, self._now_ns = self._now_ns, now_ns
        if now_ns != before:
            self._heard_at = time.monotonic()
        if before is None or went_back:
            self.began_ns = now_ns
        due = [k for k, (at, _) in self._alarms.items() if went_back or at <= now_ns]
        self._changed.notify_all()
        return [self._alarms.pop(key)[1] for key in due]

    def set_alarm(self, owner: object, at_ns: int, call: Callable[[], None]) -> None:
        """Calls once when time reaches `at_ns` or goes backwards; one alarm per owner."""
        with self._changed:
            if at_ns > self.now_ns():
                self._alarms[owner] = (at_ns, call)
                return
        call()

    def on_jump(self, callback: Callable[[Jump], None]) -> Callable[[], None]:
        """Registers a callback for backward jumps; returns a call that unregisters it."""
        self._jump_callbacks.append(callback)
        return lambda: self._jump_callbacks.remove(callback)

    def wait_ready(self, timeout_s: float) -> bool:
        """Waits up to `timeout_s` of wall time for the first stamp."""
        with self._changed:
            return self._changed.wait_for(lambda: self.ready, timeout_s)

    def sleep_until(self, at_ns: int, timeout_s: float | None = None) -> bool:
        """Sleeps until `at_ns`; False if `timeout_s` of wall time passed or time went backwards."""
        with self._changed:
            start = self.now_ns()
            self._changed.wait_for(
                lambda: self.now_ns() >= at_ns or self.now_ns() < start, timeout_s
            )
            return self.now_ns() >= at_ns


class Clock:
    """A node's clock: wall time, or simulated time under `use_sim_time`."""

    def __init__(self) -> None:
        self.simulated: SimClock | None = None

    @property
    def ready(self) -> bool:
        """False while simulated time is in use and no stamp has been received."""
        return self.simulated is None or self.simulated.ready

    def now_ns(self) -> int:
        """The graph's time in ns, for stamps."""
        return time.time_ns() if self.simulated is None else self.simulated.now_ns()

    def steady_ns(self) -> int:
        """Time in ns for intervals: unlike wall time it does not jump when the date is set."""
        return time.monotonic_ns() if self.simulated is None else self.simulated.now_ns()

    def sleep_until_steady(self, at_ns: int, timeout_s: float | None = None) -> bool:
        """Sleeps until `steady_ns` reaches `at_ns`; False if it did not within `timeout_s`."""
        if self.simulated is not None:
            return self.simulated.sleep_until(at_ns, timeout_s)
        wanted = (at_ns - time.monotonic_ns()) / NS
        time.sleep(max(0.0, wanted if timeout_s is None else min(wanted, timeout_s)))
        return timeout_s is None or wanted <= timeout_s
