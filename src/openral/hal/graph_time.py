"""GraphTime: from the times that a HAL measures by to the graph's clock, and back."""

from __future__ import annotations

import time

from openral.hal.protocols import HAL, SimTime
from openral.hal.snapshot import Snapshot


class GraphTime:
    """Simulated if the HAL has a clock of its own and wall time is not forced."""

    def __init__(self, hal: HAL, force_wall: bool, after_ns: int = 0) -> None:
        """Simulated time goes on from `after_ns`, so that a new simulation sets no clock back."""
        self._source = hal if isinstance(hal, SimTime) and hal.sim_time_ns() is not None else None
        self.simulated = self._source is not None and not force_wall
        self._shift_ns = after_ns if self.simulated else 0

    @property
    def name(self) -> str:
        """`sim` or `wall`."""
        return "sim" if self.simulated else "wall"

    def note(self, snapshot: Snapshot) -> None:
        """Told at every tick: when on wall time its measurement happened now."""
        if self._source is not None and not self.simulated:
            self._shift_ns = time.time_ns() - snapshot.stamp_ns

    def now(self) -> int:
        """The graph's time."""
        if not self.simulated or self._source is None:
            return time.time_ns()
        return (self._source.sim_time_ns() or 0) + self._shift_ns

    def of(self, hal_ns: int) -> int:
        """The graph's time of something that the HAL measured."""
        return hal_ns + self._shift_ns

    def to_hal(self, graph_ns: int) -> int:
        """The HAL's time for a time of the graph."""
        return graph_ns - self._shift_ns
