"""A flood of candidates from a process of its own, and proof of how much was really sent."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.node.node import Node
from tests.ros.conftest import wait_until
from tests.system.programs.flood import TELL_S

HERTZ = 5000.0
AT_LEAST = 3_000.0
"""A second of the graph's time, on average, while something is tried."""
_ROOT = Path(__file__).parents[2]


class Flood:
    """Sends one candidate 5,000 times a second of the graph's time; use it in a `with`."""

    def __init__(self, node: Node, domain: int, chunk: Any, fresh: bool = False) -> None:
        """`fresh`: each is stamped as it is sent; else all are as old as the chunk."""
        self._node = node
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

    def _now(self) -> float:
        return self._node.now() / NS

    def during(self, act: Callable[[], None]) -> None:
        """Acts once the flood runs at its rate, which it must keep meanwhile."""
        wait_until(lambda: self._told and self._rate(self._now() - 1.0) >= AT_LEAST, 60.0)
        began = self._now()
        act()
        rate = self._rate(began)
        assert rate >= AT_LEAST, f"only {rate:.0f} a second were sent"

    def _rate(self, since: float) -> float:
        now = self._now()
        told = [(at, sent) for at, sent in list(self._told) if since <= at <= now]
        if len(told) < 2 or told[-1][0] == told[0][0]:
            return 0.0
        (first, before), (last, after) = told[0], told[-1]
        return (after - before) / max(last - first, now - since - 2 * TELL_S)

    def __enter__(self) -> Flood:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(5.0)
        assert self._process.stdout is not None
        self._process.stdout.close()
