"""Other work on the machine, made by the test itself."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator

_SAMPLE_S = 0.1
_LOOP = "while True: pass"
_NO_PRIVILEGE = ("setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice")
_NO_GRANT = ("prlimit", "--rtprio=0", "--")


@contextlib.contextmanager
def busy_machine(loops_per_core: int = 3) -> Iterator[None]:
    """Busy loops of ordinary priority on every core; whatever happens, they end."""
    count = loops_per_core * (os.cpu_count() or 1)
    loops = [subprocess.Popen([sys.executable, "-c", _LOOP]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


def slowdown() -> float:
    """Wall seconds that a second of work takes now: 1 on a machine that does nothing else.

    For limits on how soon something ends that is nothing but work.
    """
    wall, work = time.monotonic(), time.thread_time()
    while time.thread_time() - work < _SAMPLE_S:
        pass
    return max(1.0, (time.monotonic() - wall) / _SAMPLE_S)


def without_priority() -> tuple[str, ...]:
    """What a command begins with so that its processes get no real-time priority."""
    return (*_NO_GRANT, *(_NO_PRIVILEGE if os.geteuid() == 0 else ()))
