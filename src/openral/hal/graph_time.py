"""GraphTime: converts between a HAL's own time and the graph's clock."""

from __future__ import annotations

import time

from openral.hal.protocols import HAL, SimTime
from openral.hal.snapshot import Snapshot


class GraphTime:
    """The graph's clock: simulated if the HAL has its own clock and wall time is not forced."""

    def __init__(self, hal: HAL, force_wall: bool, after_ns: int = 0) -> None:
        """Simulated time continues from `after_ns`, so that a new simulation never sets it back."""
        self._source = hal if isinstance(hal, SimTime) and hal.sim_time_ns() is not None else None
        self.simulated = self._source is not None and not force_wall
        self._shift_ns = after_ns if self.simulated else 0

    @property
    def name(self) -> str:
        """`sim` or `wall`."""
        return "sim" if self.simulated else "wall"

    def note(self, snapshot: Snapshot) -> None:
        """Call at every tick: on wall time, a simulation's measurement counts as made now."""
        if self._source is not None and not self.simulated:
            self._shift_ns = time.time_ns() - snapshot.stamp_ns

    def now(self) -> int:
        """The graph's time, in ns."""
        if not self.simulated or self._source is None:
            return time.time_ns()
        return (self._source.sim_time_ns() or 0) + self._shift_ns

    def of(self, hal_ns: int) -> int:
        """Converts a HAL's stamp to graph time, in ns."""
        return hal_ns + self._shift_ns

    def to_hal(self, graph_ns: int) -> int:
        """Converts graph time to the HAL's time, in ns."""
        return graph_ns - self._shift_ns
