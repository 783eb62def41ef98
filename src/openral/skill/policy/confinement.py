"""Confines this process to what a policy needs, before any of the policy's code runs.

Where a system lacks one of the mechanisms, it continues with the others and reports which.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from openral.skill.policy import landlock, seccomp
from openral.skill.policy.limits import PolicyLimits

_PR_SET_DUMPABLE, _PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 4, 8, 38, 47
_AMBIENT_RAISE = 2
_CAPABILITY_VERSION = 0x20080522
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2
_FIRST_USER = 1_900_000_000
"""User ids from here on are unassigned: beyond those of people, services and containers."""
_CACHES = ("XDG_CACHE_HOME", "HF_HOME", "TORCH_HOME")
_OOM_FIRST = "1000"


def confine(limits: PolicyLimits, folder: Path, number: int) -> list[str]:
    """Confines this process; returns what this system could not do, in sentences.

    `folder` is the policy's own writable folder; `number` sets its user id apart from that of
    other policies. To be called while the process has one thread.
    """
    lacking = []
    with suppress(OSError):  # the OOM killer ends the policy first
        Path("/proc/self/oom_score_adj").write_text(_OOM_FIRST)
    os.environ |= {"TMPDIR": str(folder), "RES_OPTIONS": "use-vc"}
    writable = [folder, *_caches(), *map(Path, limits.folders)]
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    guarded = landlock.version() > 0
    if os.geteuid() == 0:
        try:
            _become(_FIRST_USER + number, folder, may_write=guarded)
        except OSError as error:
            lacking.append(f"it runs as root: {error}")
    _set_limits(limits)
    if guarded:
        landlock.restrict(writable)
    else:
        lacking.append("this kernel has no Landlock: it may write whatever its user may")
    if refusal := seccomp.refusal():
        lacking.append(f"it may make every system call: {refusal}")
    else:
        seccomp.install(scoped_signals=landlock.scopes_signals())
    return lacking


def _caches() -> Iterable[Path]:
    """The user's cache folders for downloads and compiled code, created where missing."""
    places = [Path(os.environ[name]) for name in _CACHES if os.environ.get(name)]
    for place in [*places, Path("~/.cache").expanduser()]:
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
        yield place


def _set_limits(limits: PolicyLimits) -> None:
    """Limits memory and tasks; RLIMIT_NPROC does not bind root, so the warden counts as well."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for kind, wanted in (
        (resource.RLIMIT_DATA, limits.memory),
        (resource.RLIMIT_NPROC, _tasks_of(os.geteuid()) + limits.most_tasks),
    ):
        _, hard = resource.getrlimit(kind)
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (value, value))


def _tasks_of(uid: int) -> int:
    """Number of processes and threads of a user, as the system counts them."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, KeyError, ValueError):
            lines = (process / "status").read_text().splitlines()
            fields = dict(line.split(":", 1) for line in lines)
            if int(fields["Uid"].split()[0]) == uid:
                count += int(fields["Threads"])
    return count


def _become(uid: int, folder: Path, may_write: bool) -> None:
    """Switches from root to user `uid`, which may read all files: the weights may be root's.

    With `may_write` it may write them too, where Landlock restricts which: root's cache is one.
    """
    os.chown(folder, uid, uid)
    capabilities = [_DAC_READ_SEARCH, *([_DAC_OVERRIDE] if may_write else [])]
    _prctl(_PR_SET_KEEPCAPS, 1)
    os.setgroups(os.getgroups())  # keeps access to devices that belong to a group
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    mask = sum(1 << capability for capability in capabilities)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    sets = struct.pack("=IIIIII", mask, mask, mask, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "its capabilities could not be given up")
    for capability in capabilities:
        _prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, capability)
    _prctl(_PR_SET_DUMPABLE, 1)  # makes /proc/self accessible to it again


def _prctl(option: int, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    given = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    if libc.prctl(option, *given):
        raise OSError(ctypes.get_errno(), f"prctl {option} failed")
