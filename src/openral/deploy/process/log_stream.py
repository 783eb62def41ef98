"""Shows the lines of many processes, each with its node's name, and never makes one wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import IO

_KEPT = 5000
_TAIL = 40


class LogStream:
    """One thread prints; whoever adds a line never waits, even if the terminal stands still.

    Lines that nobody takes are dropped, oldest first, and counted. What cannot be shown is skipped.
    """

    def __init__(self, show: Callable[[str, str], None]) -> None:
        """`show(name, line)` is called on the printing thread, one line at a time."""
        self.show = show
        self.dropped = 0
        self.fault = ""
        """Why something could not be shown, the last time."""
        self._lines: deque[tuple[str, str]] = deque(maxlen=_KEPT)
        self._picture: Callable[[], None] | None = None
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="logs", daemon=True)
        self._thread.start()

    def add(self, name: str, line: str) -> None:
        """Queues a line."""
        with self._changed:
            if len(self._lines) == _KEPT:
                self.dropped += 1
            self._lines.append((name, line))
            self._changed.notify()

    def draw(self, picture: Callable[[], None]) -> None:
        """Is called on the printing thread after the lines; one that still waits is replaced."""
        with self._changed:
            self._picture = picture
            self._changed.notify()

    def follow(self, name: str, pipe: IO[bytes]) -> Tail:
        """Reads a process's output to its end on a thread of its own."""
        return Tail(self, name, pipe)

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except Exception as error:  # a terminal is never a reason to stop a run
                if not self.fault:
                    self.add("supervisor", f"something cannot be shown: {error!r}")
                self.fault = repr(error)

    def _next(self) -> Callable[[], None] | None:
        """Waits for something to show; None: this is the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._picture or self._closing)
            if self._lines:
                return partial(self.show, *self._lines.popleft())
            job, self._picture = self._picture, None
            return job

    def close(self, timeout_s: float = 0.3) -> None:
        """Prints what is left, unless the terminal does not take it in time."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout_s)


class Tail:
    """The last lines of one process."""

    def __init__(self, stream: LogStream, name: str, pipe: IO[bytes]) -> None:
        self.lines: deque[str] = deque(maxlen=_TAIL)
        self._stream, self._name, self._pipe = stream, name, pipe
        self._thread = threading.Thread(target=self._run, name=f"log-{name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for raw in iter(self._pipe.readline, b""):
            line = raw.decode(errors="replace").rstrip()
            self.lines.append(line)
            self._stream.add(self._name, line)
        self._pipe.close()

    def join(self, timeout_s: float) -> None:
        """Waits for the end of the output."""
        self._thread.join(timeout_s)
