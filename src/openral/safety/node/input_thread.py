"""A thread of its own for large inputs: a map or a long list must not delay verdicts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable


class InputThread:
    """Handles the newest input of each kind; a waiting input is replaced by its successor."""

    def __init__(self) -> None:
        self._newest: dict[Hashable, Callable[[], None]] = {}
        self._ended = self._busy = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="openral-inputs", daemon=True)
        self._thread.start()

    def offer(self, kind: Hashable, handle: Callable[[], None]) -> None:
        """Queues the newest input of a kind and returns at once; `handle` runs on the thread."""
        with self._changed:
            self._newest.pop(kind, None)
            self._newest[kind] = handle
            self._changed.notify_all()

    def settle(self) -> None:
        """Waits until every queued input has been handled."""
        with self._changed:
            self._changed.wait_for(lambda: not self._newest and not self._busy)

    def close(self) -> None:
        """Ends the thread after the input in progress."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._newest)
                if self._ended:
                    return
                kind = next(iter(self._newest))
                handle, self._busy = self._newest.pop(kind), True
            handle()
            with self._changed:
                self._busy = False
                self._changed.notify_all()
