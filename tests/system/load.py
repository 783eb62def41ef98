"""Other work on the machine, made by the test itself."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

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


def without_priority() -> tuple[str, ...]:
    """What a command begins with so that its processes get no real-time priority."""
    return (*_NO_GRANT, *(_NO_PRIVILEGE if os.geteuid() == 0 else ()))
