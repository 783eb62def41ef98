"""BackgroundWriter: writes a recording on its own thread, so that no callback waits for a disk."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Self

from openral.errors import RecordingError
from openral.ros.qos import DEFAULT, QoS
from openral.ros.recording.writer import RecordingWriter

_FLUSH_EVERY = 1.0


class BackgroundWriter:
    """Takes messages from any thread and never blocks.

    At most `most_bytes` are queued; further messages are dropped and counted in `lost`. A disk
    error ends the writing, is available as `error`, and is raised by `close`.
    """

    def __init__(self, writer: RecordingWriter, most_bytes: int = 64 * 1024 * 1024) -> None:
        self.writer = writer
        self.lost = 0
        self._most = most_bytes
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._ending = False
        self._give_up = math.inf
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    @property
    def backlog(self) -> float:
        """Fraction of the queue's memory in use, 0 to 1."""
        return self._bytes / self._most

    @property
    def error(self) -> RecordingError | None:
        """The error that stopped writing, if any."""
        return self.writer.error

    def add_topic(self, topic: str, type_name: str, qos: QoS = DEFAULT) -> None:
        """Declares a topic with its offered QoS; call it before the topic's first message."""
        self._queue(0, partial(self.writer.add_topic, topic, type_name, qos))

    def write(
        self, topic: str, type_name: str, data: bytes, log_time: int, publish_time: int
    ) -> None:
        """Queues one message; see `RecordingWriter.write`."""
        job = partial(self.writer.write, topic, type_name, data, log_time, publish_time)
        self._queue(len(data), job)

    def close(self, within_s: float = math.inf) -> None:
        """Writes what is queued, completes the recording, and raises the error if there was one.

        What cannot be written within `within_s` is dropped and counted; the recording is still
        completed.
        """
        with self._changed:
            self._ending = True
            self._give_up = time.monotonic() + within_s
            self._changed.notify()
        self._thread.join()
        self.writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        with suppress(RecordingError):
            self.close()

    def _queue(self, size: int, job: Callable[[], None]) -> None:
        with self._changed:
            if self._ending or self.error or self._bytes + size > self._most:
                self.lost += 1
                return
            self._waiting.append((size, job))
            self._bytes += size
            self._changed.notify()

    def _run(self) -> None:
        flushed = time.monotonic()
        while (waiting := self._take()) is not None:
            for size, job in waiting:
                self._do(size, job)
            if time.monotonic() - flushed > _FLUSH_EVERY:
                with suppress(RecordingError):  # kept in writer.error
                    self.writer.flush()
                flushed = time.monotonic()

    def _take(self) -> list[tuple[int, Callable[[], None]]] | None:
        with self._changed:
            if not self._waiting and not self._ending:
                self._changed.wait(_FLUSH_EVERY)
            if not self._waiting and self._ending:
                return None
            waiting = list(self._waiting)
            self._waiting.clear()
            return waiting

    def _do(self, size: int, job: Callable[[], None]) -> None:
        lost = int(self._ending and time.monotonic() > self._give_up)
        try:
            if not lost:
                job()
        except RecordingError:
            lost = 1
        with self._changed:
            self._bytes -= size
            self.lost += lost
