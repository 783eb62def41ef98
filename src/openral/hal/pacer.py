"""Pacer: decides when a periodic task is due, from the stamps of other events."""

from __future__ import annotations


class Pacer:
    """Due once a period; missed periods are skipped, not made up for."""

    def __init__(self, rate_hz: float, phase: float = 0.0) -> None:
        """`phase`: delay in periods, to spread tasks of the same rate."""
        self._period_ns = round(1e9 / rate_hz)
        self._early_ns = self._period_ns // 4
        self._phase_ns = round(phase * self._period_ns)
        self._next_ns: int | None = None

    @property
    def next_ns(self) -> int:
        """The earliest time at which it is due, in ns."""
        return 0 if self._next_ns is None else self._next_ns - self._early_ns

    def due(self, now_ns: int) -> bool:
        """Whether it is due; if so, schedules the next period."""
        if self._next_ns is None:
            self._next_ns = now_ns + self._phase_ns
        # Stamps come in ticks: one just before the due time counts, so that the rate is kept.
        if now_ns < self._next_ns - self._early_ns:
            return False
        self._next_ns += self._period_ns
        if self._next_ns - self._early_ns <= now_ns:
            self._next_ns = now_ns + self._period_ns
        return True
