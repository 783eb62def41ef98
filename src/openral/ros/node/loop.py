"""Event loop of one thread: readers with data, due timers and calls posted by other threads."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable

from openral.errors import TransportError
from openral.log import logger
from openral.ros.clock import NS
from openral.ros.node.timer import Timer
from openral.ros.transport.transport import Poller, Reader

Call = Callable[[], None]


class Loop:
    """Runs on the thread that calls `run_once`, one at a time; other methods are thread-safe."""

    def __init__(self, poller: Poller) -> None:
        self._poller = poller
        self._posted: deque[Call] = deque()
        self._later: list[tuple[float, int, Call]] = []
        self._order = itertools.count()
        self._timers: tuple[Timer, ...] = ()
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._woken = False
        self._stopped = threading.Event()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    @property
    def in_loop_thread(self) -> bool:
        """Whether the caller runs inside this loop."""
        return self._thread == threading.get_ident()

    def add_reader(self, reader: Reader, ready: Call, on_match: bool = False) -> None:
        """Calls `ready` in this loop on data and, with `on_match`, when peers come or go."""
        self._poller.add(reader, ready, on_match)

    def remove_reader(self, reader: Reader) -> None:
        """Removes a reader."""
        self._poller.remove(reader)

    def add_timer(self, timer: Timer) -> None:
        """Calls the timer's callback in this loop whenever it is due."""
        with self._lock:
            self._timers = (*self._timers, timer)
        self.wake()

    def remove_timer(self, timer: Timer) -> None:
        """Removes a timer."""
        with self._lock:
            self._timers = tuple(t for t in self._timers if t is not timer)

    def post(self, call: Call) -> None:
        """Schedules `call` for the loop's next iteration."""
        self._posted.append(call)
        if self._thread != threading.get_ident():
            self.wake()

    def call_later(self, delay_s: float, call: Call) -> None:
        """Schedules `call` in this loop after `delay_s` of wall time."""
        with self._lock:
            heapq.heappush(self._later, (time.monotonic() + delay_s, next(self._order), call))
        self.wake()

    def wake(self) -> None:
        """Wakes a waiting loop so that it checks for work again."""
        if not self._woken:
            self._woken = True
            self._poller.wake()

    def stop(self) -> None:
        """Ends `run_until_stopped`."""
        self._stopped.set()
        self._woken = False
        self.wake()

    def run_until_stopped(self) -> None:
        """Runs until another thread calls `stop`."""
        while not self._stopped.is_set():
            self.run_once(10.0)

    def run_once(self, timeout_s: float) -> bool:
        """Waits up to `timeout_s` for work and runs it; returns whether there was any."""
        outer, self._thread = self._thread, threading.get_ident()
        try:
            wait_s = 0.0 if self._posted else self._wait_s(timeout_s)
            try:
                ready = self._poller.wait(wait_s)
            except TransportError:
                self._stopped.set()
                return False
            self._woken = False
            for call in ready:
                _contained(call)
            posted = len(self._posted)
            for _ in range(posted):
                _contained(self._posted.popleft())
            late = self._run_later()
            due = 0
            for timer in self._timers:
                if timer.take_due():
                    due += 1
                    _contained(timer.callback)
            return bool(ready or posted or late or due)
        finally:
            self._thread = outer

    def _run_later(self) -> int:
        done = 0
        while self._later and self._later[0][0] <= time.monotonic():
            with self._lock:
                _, _, call = heapq.heappop(self._later)
            _contained(call)
            done += 1
        return done

    def _wait_s(self, limit_s: float) -> float:
        wait_s = limit_s
        if self._later:
            wait_s = min(wait_s, self._later[0][0] - time.monotonic())
        alarms: dict[int, Timer] = {}
        for timer in self._timers:
            if timer.canceled:
                continue
            if timer.simulated is None:
                wait_s = min(wait_s, (timer.next_ns - time.monotonic_ns()) / NS)
            else:
                first = alarms.setdefault(id(timer.simulated), timer)
                alarms[id(timer.simulated)] = min(first, timer, key=lambda t: t.next_ns)
        for timer in alarms.values():
            if timer.simulated is not None:
                at_ns = timer.next_ns if timer.clock.ready else 1
                timer.simulated.set_alarm(self, at_ns, self.wake)
        return max(0.0, wait_s)

    def close(self) -> None:
        """Stops and closes the poller."""
        self.stop()
        self._poller.close()


def _contained(call: Call) -> None:
    """Runs a call; an exception it raises is logged and does not end the loop."""
    try:
        call()
    except Exception:
        logger().exception("callback failed", callback=repr(call))
