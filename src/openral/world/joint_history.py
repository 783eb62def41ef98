"""JointHistory: joint positions at the time of a measurement, interpolated."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from openral.ros.clock import NS

_SPAN_NS = 3 * NS
_SET_BACK_NS = NS


class JointHistory:
    """Joint positions of the last seconds."""

    def __init__(self) -> None:
        self._stamps: list[int] = []
        self._q: list[NDArray[np.float64]] = []

    def add(self, stamp_ns: int, q: NDArray[np.float64]) -> None:
        """Adds positions `q` (dof,); a measurement that is not newer than the last is ignored.

        One that is older by more than a second clears the history: time was set back.
        """
        if self._stamps and stamp_ns < self._stamps[-1] - _SET_BACK_NS:
            self.forget()
        if self._stamps and stamp_ns <= self._stamps[-1]:
            return
        self._stamps.append(stamp_ns)
        self._q.append(q.copy())
        if self._stamps[0] < stamp_ns - 2 * _SPAN_NS:
            old = bisect_left(self._stamps, stamp_ns - _SPAN_NS)
            del self._stamps[:old], self._q[:old]

    def at(self, stamp_ns: int) -> NDArray[np.float64] | None:
        """Interpolated positions (dof,) at a time; None outside the recorded time span."""
        if not self._stamps or not self._stamps[0] <= stamp_ns <= self._stamps[-1]:
            return None
        after = bisect_left(self._stamps, stamp_ns)
        if self._stamps[after] == stamp_ns:
            return self._q[after]
        start, end = self._stamps[after - 1], self._stamps[after]
        part = (stamp_ns - start) / (end - start)
        return self._q[after - 1] * (1 - part) + self._q[after] * part

    def forget(self) -> None:
        """Clears the history: time was set back."""
        self._stamps.clear()
        self._q.clear()
