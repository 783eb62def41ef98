"""A flood of candidates from a process of its own, and proof of how much was really sent."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openral.ros import types
from tests.ros.conftest import wait_until

HERTZ = 5000.0
AT_LEAST = 4500.0
"""A second, on average, while something is tried."""
_ROOT = Path(__file__).parents[2]
_TRIES = 8


class Flood:
    """Sends one candidate 5,000 times a second; use it in a `with`."""

    def __init__(self, domain: int, chunk: Any, fresh: bool = False) -> None:
        """`fresh`: each is stamped as it is sent; else all are as old as the chunk."""
        program = [sys.executable, "-m", "tests.system.programs.flood", str(domain), str(HERTZ)]
        self._process = subprocess.Popen(
            [*program, "fresh" if fresh else "old"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(types.encode(chunk))
        self._process.stdin.close()
        self._told: list[tuple[float, int]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            at, sent = line.split()
            self._told.append((float(at), int(sent)))

    def during(self, act: Callable[[], None]) -> float:
        """Acts in the flood, again if too little was sent meanwhile; what was sent a second."""
        rates = []
        for _ in range(_TRIES):
            self._settle()
            began = time.monotonic()
            act()
            rates.append(self._rate(began, time.monotonic()))
            if rates[-1] >= AT_LEAST:
                return rates[-1]
        raise AssertionError(f"this machine cannot send {AT_LEAST:g} a second; it sent {rates}")

    def _settle(self) -> None:
        """Until it runs at its rate, or for a while if it does not get there."""
        give_up = time.monotonic() + 10.0
        wait_until(lambda: self._told, 60.0)
        time.sleep(1.0)
        while time.monotonic() < give_up:
            now = time.monotonic()
            if self._rate(now - 1.0, now) >= AT_LEAST:
                return
            time.sleep(0.1)

    def _rate(self, since: float, until: float) -> float:
        told = [(at, sent) for at, sent in list(self._told) if since <= at <= until]
        if len(told) < 2:
            return 0.0
        (first, before), (last, after) = told[0], told[-1]
        return (after - before) / (until - since) if last > first else 0.0

    def __enter__(self) -> Flood:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(5.0)
        assert self._process.stdout is not None
        self._process.stdout.close()
