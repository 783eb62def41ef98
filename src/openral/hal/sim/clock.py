"""MonotonicTime: a simulator's time that never goes back, whether or not a reset rewinds it."""

from __future__ import annotations


class MonotonicTime:
    """Follows a backend's time; what a rewind takes away is added on."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._offset = 0

    def at(self, backend_ns: int) -> int:
        """The steady time that belongs to the backend's present one."""
        if self._last is not None and backend_ns < self._last:
            self._offset += self._last - backend_ns
        self._last = backend_ns
        return backend_ns + self._offset
