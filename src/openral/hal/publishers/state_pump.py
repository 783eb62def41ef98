"""StatePump: publishes measurements on a thread of its own, so that no simulation waits."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class StatePump(Generic[T]):
    """Passes items to `call` in order, on its own thread."""

    def __init__(self, call: Callable[[T], None]) -> None:
        """`call` must not raise."""
        self._call = call
        self._items: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="openral-hal-states", daemon=True)
        self._thread.start()

    def offer(self, item: T) -> None:
        """Queues an item; returns at once."""
        self._items.put(item)

    def close(self) -> None:
        """Ends the thread after the queued items."""
        self._items.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while (item := self._items.get()) is not None:
            self._call(item)
