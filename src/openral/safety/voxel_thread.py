"""Takes voxel maps on a thread of its own: a rebuilt field must not delay verdicts."""

from __future__ import annotations

import threading
from collections.abc import Callable


class VoxelThread:
    """Handles the newest map; one that arrives while another is handled replaces its successor."""

    def __init__(self, handle: Callable[[bytes], None]) -> None:
        self._handle = handle
        self._newest: bytes | None = None
        self._ended = self._busy = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="openral-voxels", daemon=True)
        self._thread.start()

    def offer(self, payload: bytes) -> None:
        """Gives it a map; returns at once."""
        with self._changed:
            self._newest = payload
            self._changed.notify_all()

    def settle(self) -> None:
        """Waits until the newest map has been handled."""
        with self._changed:
            self._changed.wait_for(lambda: self._newest is None and not self._busy)

    def close(self) -> None:
        """Ends the thread after the map that it is handling."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._newest is not None)
                if self._ended:
                    return
                payload, self._newest, self._busy = self._newest, None, True
            if payload is not None:
                self._handle(payload)
            with self._changed:
                self._busy = False
                self._changed.notify_all()
