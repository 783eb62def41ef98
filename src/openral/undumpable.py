"""Protects a process's memory from other processes of the same user, and disables core dumps.

Root, or a process with CAP_SYS_PTRACE, can still read it; see docs/security.md.
"""

from __future__ import annotations

import ctypes
import os
import resource
from pathlib import Path

_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4


def make_undumpable() -> None:
    """Makes this process undumpable until it executes another program; OSError on failure.

    Afterwards `/proc/self` belongs to root: write to it before.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) or libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot make this process undumpable")


def exposed(pid: int, uid: int) -> str:
    """Describes which processes could read the memory of process `pid` of user `uid`.

    Empty if only root can. For a process of root the two cases look the same: only a
    tracer is reported.
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
    """Whether a process is this one or one of its descendants."""
    try:
        while pid > 1 and pid != os.getpid():
            pid = _field(Path(f"/proc/{pid}"), "PPid")
    except (OSError, ValueError):
        return False
    return pid == os.getpid()


def _field(process: Path, name: str) -> int:
    lines = (process / "status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])
