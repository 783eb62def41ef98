"""RateMeter: measures the rate and jitter of events such as received messages."""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass
from statistics import fmean, pstdev

from openral.ros.clock import NS


@dataclass(frozen=True)
class RateReport:
    """Mean rate, and the least, largest and standard deviation of the intervals in s."""

    hz: float
    min_s: float
    max_s: float
    std_s: float
    count: int


class RateMeter:
    """Mean rate over the last `window` intervals."""

    def __init__(self, window: int = 1000) -> None:
        self._times: deque[int] = deque(maxlen=window + 1)
        self.total = 0

    def tick(self, at_ns: int) -> None:
        """Records an event at `at_ns`; time that goes backwards restarts the window."""
        if self._times and at_ns < self._times[-1]:
            self._times.clear()
        self._times.append(at_ns)
        self.total += 1

    def report(self) -> RateReport | None:
        """The statistics of the window; None until there is an interval to measure."""
        times = list(self._times)
        if len(times) < 2 or times[-1] == times[0]:
            return None
        gaps = [(b - a) / NS for a, b in itertools.pairwise(times)]
        mean = fmean(gaps)
        return RateReport(1 / mean, min(gaps), max(gaps), pstdev(gaps, mean), len(times))
