"""A terminal that a program writes to, and what can be read on it."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import termios
import threading
from typing import Any

_CODES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[78])")


class Terminal:
    """Give `end` to a program as its standard error; use it in a `with`."""

    def __init__(self, read: bool = True) -> None:
        """`read`: whether anybody takes what is written; if not, writers soon wait."""
        self._master, self.end = os.openpty()
        size = struct.pack("HHHH", 40, 160, 0, 0)
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, size)
        self.raw = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        if read:
            self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # the last writer is gone
                return
            self.raw += data.decode(errors="replace")

    @property
    def text(self) -> str:
        """All that was ever written, without colours and moves."""
        return _CODES.sub("", self.raw)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: Any) -> None:
        os.close(self.end)
        if self._reader.is_alive():
            self._reader.join(5.0)
        os.close(self._master)
