"""History of one frame's pose in its parent over the last seconds."""

from __future__ import annotations

from bisect import bisect_left

from openral.errors import ExtrapolationError
from openral.ros.tf.rigid import Rigid

# A stamp this much older than the newest means that time went backwards, not a late message.
JUMP_NS = 1_000_000_000
# Upper bound, whatever the publishing rate: 10 s at 2 kHz.
MOST_POSES = 20_000


class History:
    """Poses by stamp (ns), or one pose for all times if static; `span` in ns."""

    def __init__(self, parent: str, static: bool, span: int) -> None:
        self.parent, self.static, self.span = parent, static, span
        self._stamps: list[int] = []
        self._poses: list[Rigid] = []

    @property
    def interval(self) -> tuple[int, int]:
        """First and last stamp in ns."""
        return self._stamps[0], self._stamps[-1]

    def jumped_back(self, stamp: int) -> bool:
        """Whether a pose with this stamp means that the clock went backwards."""
        return not self.static and bool(self._stamps) and stamp < self._stamps[-1] - JUMP_NS

    def insert(self, stamp: int, pose: Rigid) -> None:
        """Adds a pose and drops those more than `span` older than the newest."""
        if self.static:
            self._stamps, self._poses = [stamp], [pose]
            return
        at = bisect_left(self._stamps, stamp)
        if at < len(self._stamps) and self._stamps[at] == stamp:
            self._poses[at] = pose
            return
        self._stamps.insert(at, stamp)
        self._poses.insert(at, pose)
        old = bisect_left(self._stamps, self._stamps[-1] - self.span)
        old = max(old, len(self._stamps) - MOST_POSES)
        del self._stamps[:old], self._poses[:old]

    def at(self, stamp: int, child: str) -> Rigid:
        """The pose at `stamp` (ns), interpolated; ExtrapolationError outside the interval."""
        if self.static:
            return self._poses[0]
        first, last = self.interval
        if not first <= stamp <= last:
            side = "past" if stamp < first else "future"
            raise ExtrapolationError(
                f"'{child}' in '{self.parent}' at {_seconds(stamp)} lies in the {side}; "
                f"known from {_seconds(first)} to {_seconds(last)}"
            )
        after = bisect_left(self._stamps, stamp)
        if self._stamps[after] == stamp:
            return self._poses[after]
        start, end = self._stamps[after - 1], self._stamps[after]
        fraction = (stamp - start) / (end - start)
        return self._poses[after - 1].interpolate(self._poses[after], fraction)


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.3f} s"
