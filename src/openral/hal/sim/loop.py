"""SimLoop: the thread that steps a simulation, paced to real time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from openral.errors import TransportError
from openral.hal.sim.attached import SimAttachedHAL
from openral.hal.snapshot import Snapshot

# A simulation that fell behind catches up: the time of a rendering at once, more at a multiple of
# its pace, so that other nodes keep their deadlines meanwhile; the rest is not made up for.
_AT_ONCE_S = 0.04
_RUSH = 1.25
_FORGIVE_S = 0.5
_METER_S = 1.0
_BLOCKED_S = 0.02


class SimLoop:
    """Connects, steps, serves and closes a simulated HAL on a thread of its own."""

    def __init__(
        self,
        hal: SimAttachedHAL,
        real_time_factor: float | None = 1.0,
        on_tick: Callable[[Snapshot], None] | None = None,
        may_step: Callable[[Snapshot], bool] | None = None,
    ) -> None:
        """`real_time_factor`: None runs as fast as possible. The calls run on the loop's thread.

        While `may_step` returns False for the latest snapshot, simulated time stands still.
        """
        self.hal = hal
        self.error: BaseException | None = None
        """The exception that ended the loop, if any."""
        self._factor, self._on_tick, self._may_step = real_time_factor, on_tick, may_step
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="openral-sim", daemon=True)
        self._meter: deque[tuple[float, float]] = deque(maxlen=4096)

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    @property
    def real_time_factor(self) -> float:
        """Simulated seconds per second, over the last second."""
        marks = list(self._meter)
        if len(marks) < 2 or marks[-1][0] <= marks[0][0]:
            return 0.0
        return (marks[-1][1] - marks[0][1]) / (marks[-1][0] - marks[0][0])

    def start(self, timeout_s: float = 60.0) -> None:
        """Returns once the HAL is connected; raises what connecting raised."""
        self._thread.start()
        if not self._ready.wait(timeout_s):
            raise TransportError(f"the simulation was not ready within {timeout_s:g} s")
        if self.error is not None:
            self._thread.join()
            raise self.error

    def stop(self, timeout_s: float = 10.0) -> None:
        """Ends the thread, which closes the HAL; may be called twice."""
        self._stopping.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(timeout_s)
            if self._thread.is_alive():
                raise TransportError(f"the simulation did not end within {timeout_s:g} s")

    def _run(self) -> None:
        try:
            self.hal.connect()
            self.hal.draw_once()
            self._ready.set()
            self._spin()
        except BaseException as error:
            self.error = error
        finally:
            self._ready.set()
            self.hal.close()

    def _spin(self) -> None:
        due = rushed = time.monotonic()
        simulated = 0.0
        tick_s = self.hal.tick_ns * 1e-9
        while not self._stopping.is_set():
            self.hal.serve()
            if self._may_step is not None and not self._may_step(self.hal.read_state()):
                self._mark(time.monotonic(), simulated)
                self.hal.wait(_BLOCKED_S)
                continue
            began = time.monotonic()
            self.hal.advance()
            if self._on_tick is not None:
                self._on_tick(self.hal.read_state())
            simulated += tick_s
            self._mark(time.monotonic(), simulated)
            if self._factor is None:
                time.sleep(0)
                continue
            period_s = tick_s / self._factor
            due = max(due, began - _FORGIVE_S) + period_s
            rushed = max(rushed, began - _AT_ONCE_S) + period_s / _RUSH
            self._rest_until(max(due, rushed), period_s)

    def _rest_until(self, due: float, early_s: float) -> None:
        """Serves calls until `due`; an action may start the next tick up to `early_s` early."""
        while (left := due - time.monotonic()) > 0 and not self._stopping.is_set():
            if self.hal.action_waits and left <= early_s:
                return
            self.hal.wait(left)
            self.hal.serve()

    def _mark(self, wall: float, simulated: float) -> None:
        self._meter.append((wall, simulated))
        while self._meter and self._meter[0][0] < wall - _METER_S:
            self._meter.popleft()
