"""LogStream: prints the output of many processes with node names, without blocking any of them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import IO

_KEPT = 5000
_TAIL = 40


class LogStream:
    """Prints on one thread; adding a line never blocks, even if the terminal does.

    Lines that are not printed in time are dropped, oldest first, and counted. Errors while
    printing are reported and skipped.
    """

    def __init__(self, show: Callable[[str, str], None]) -> None:
        """`show(name, line)` is called on the printing thread, one line at a time."""
        self.show = show
        self.dropped = 0
        self.fault = ""
        """The last error while printing; empty if there was none."""
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
        """Calls `picture` on the printing thread after the queued lines; replaces a pending one."""
        with self._changed:
            self._picture = picture
            self._changed.notify()

    def follow(self, name: str, pipe: IO[bytes]) -> Tail:
        """Reads a process's output to its end on a separate thread."""
        return Tail(self, name, pipe)

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except Exception as error:  # a terminal error is never a reason to stop a run
                if not self.fault:
                    self.add("supervisor", f"something cannot be shown: {error!r}")
                self.fault = repr(error)

    def _next(self) -> Callable[[], None] | None:
        """Waits for something to print; None when closing and nothing is left."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._picture or self._closing)
            if self._lines:
                return partial(self.show, *self._lines.popleft())
            job, self._picture = self._picture, None
            return job

    def close(self, timeout_s: float = 0.3) -> None:
        """Prints the remaining lines, for at most `timeout_s`."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout_s)


class Tail:
    """Reads the output of one process and keeps its last lines."""

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
