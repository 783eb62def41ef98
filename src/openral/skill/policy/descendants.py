"""Counts, measures and ends a process's descendants, even those that keep forking."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Makes this process a subreaper: orphaned descendants become its own children."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants() -> set[int]:
    """PIDs of all processes below this one."""
    found: set[int] = set()
    fresh = list(_children(os.getpid()))
    while fresh:
        pid = fresh.pop()
        if pid not in found:
            found.add(pid)
            fresh += _children(pid)
    return found


def _children(pid: int) -> Iterator[int]:
    for task in _tasks(pid):
        with suppress(OSError):
            yield from map(int, (task / "children").read_text().split())


def _tasks(pid: int) -> list[Path]:
    with suppress(OSError):
        return list(Path(f"/proc/{pid}/task").iterdir())
    return []


def task_count(pids: set[int]) -> int:
    """Number of processes and threads."""
    return sum(len(_tasks(pid)) for pid in pids)


def resident(pids: set[int]) -> int:
    """Resident memory in bytes, fast to read: shared pages count for each process."""
    total = 0
    for pid in pids:
        with suppress(OSError, IndexError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    return total


def shared_out(pids: set[int]) -> int:
    """Proportional memory (PSS) in bytes: shared pages count once; `resident` where unreadable."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += int(next(line for line in lines if line.startswith("Pss:")).split()[1]) << 10
        except (OSError, StopIteration):
            total += resident({pid})
    return total


def end_descendants() -> None:
    """Kills descendants until none is left; stops them first: a stopped process cannot fork."""
    while True:
        stopped: set[int] = set()
        while fresh := descendants() - stopped:
            for pid in fresh:
                with suppress(OSError):
                    os.kill(pid, signal.SIGSTOP)
            stopped |= fresh
        for pid in stopped:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not _reap():
            return


def _reap() -> bool:
    """Reaps children for up to 0.2 s; returns whether any are left."""
    give_up = time.monotonic() + 0.2
    while time.monotonic() < give_up:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            time.sleep(0.002)
    return True
