"""A process whose memory other processes of the same user cannot read, and that leaves no core.

Root, or whoever has CAP_SYS_PTRACE, can read it all the same; see docs/security.md.
"""

from __future__ import annotations

import ctypes
import os
import resource
from pathlib import Path

_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4


def make_undumpable() -> None:
    """For this process until it executes another program; OSError where the system refuses.

    After it `/proc/self` belongs to root: what is to be written there goes first.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) or libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot make this process undumpable")


def exposed(pid: int, uid: int) -> str:
    """Who could read the memory of a process of that user, in words; empty: nobody but root.

    A process of root's looks the same either way: nothing is said against it.
    """
    process = Path(f"/proc/{pid}")
    try:
        owner = (process / "environ").stat().st_uid
        tracer = _field(process, "TracerPid")
    except (OSError, ValueError) as error:
        return f"process {pid} cannot be looked at: {error}"
    if tracer:
        return f"process {pid} is traced by process {tracer}"
    if uid != 0 and owner == uid:
        return f"the memory of process {pid} can be read by every process of user {uid}"
    return ""


def descends_from_me(pid: int) -> bool:
    """Whether a process is a child, or a child's child, of this one."""
    try:
        while pid > 1 and pid != os.getpid():
            pid = _field(Path(f"/proc/{pid}"), "PPid")
    except (OSError, ValueError):
        return False
    return pid == os.getpid()


def _field(process: Path, name: str) -> int:
    lines = (process / "status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])
