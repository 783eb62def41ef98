"""MonotonicTime: a simulator's time that never goes back, even if a reset rewinds the backend."""

from __future__ import annotations


class MonotonicTime:
    """Follows a backend's time; adds an offset for every rewind."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._offset = 0

    def at(self, backend_ns: int) -> int:
        """The monotonic time in ns for the backend's present time."""
        if self._last is not None and backend_ns < self._last:
            self._offset += self._last - backend_ns
        self._last = backend_ns
        return backend_ns + self._offset
