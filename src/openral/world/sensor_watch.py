"""SensorWatch: the health of one sensor, judged by the stamps of its measurements."""

from __future__ import annotations

from openral.graph.states import SensorState
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.stamps import time_message

_SKEW_NS = 10_000_000
AHEAD_NS = 50_000_000
"""A stamp further ahead of the clock than this is not a valid measurement time."""


class SensorWatch:
    """Remembers a sensor's last usable measurement and any fault since."""

    def __init__(self, name: str, max_age_s: float) -> None:
        self.name = name
        self._limit = max_age_s
        self.stamp_ns = 0
        """Stamp of the last usable measurement; 0: none."""
        self._fault: tuple[SensorState, str] | None = None
        self._heard = False
        self._rate = 0.0

    def used(self, stamp_ns: int) -> None:
        """Records that a measurement was inserted into the map."""
        gap = (stamp_ns - self.stamp_ns) / NS
        if self.stamp_ns and gap > 0:
            rate = 1 / gap
            self._rate = rate if self._rate == 0 else 0.8 * self._rate + 0.2 * rate
        self.stamp_ns = stamp_ns
        self._heard, self._fault = True, None

    def failed(self, state: SensorState, detail: str) -> None:
        """Records that an unusable measurement was received."""
        self._heard, self._fault = True, (state, detail)

    def forget(self) -> None:
        """Time was set back: resets to nothing received."""
        self.stamp_ns, self._fault, self._heard, self._rate = 0, None, False, 0.0

    def state(self, now_ns: int) -> tuple[SensorState, str]:
        """The present state, and a sentence if it is not OK."""
        if self._fault is not None:
            return self._fault
        if not self._heard:
            return SensorState.SILENT, "nothing was ever heard from it"
        age = now_ns - self.stamp_ns
        if not -_SKEW_NS <= age <= self._limit * NS:
            text = f"last measured {age / NS:.2f} s ago (limit {self._limit:g} s)"
            return SensorState.STALE, text
        return SensorState.OK, ""

    def message(self, now_ns: int) -> msg.SensorHealth:
        """The present state as a SensorHealth message."""
        state, detail = self.state(now_ns)
        return msg.SensorHealth(
            name=self.name,
            state=int(state),
            stamp=time_message(self.stamp_ns),
            rate=self._rate if state is SensorState.OK else 0.0,
            detail=detail,
        )
