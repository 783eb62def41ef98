"""Landlock: restricts a process to reading, writing in given folders and signalling its own."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_FIRST_RIGHTS = (1 << 13) - 1
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_SCOPE_SOCKETS, _SCOPE_SIGNALS = 1 << 0, 1 << 1
_SIGNALS_SINCE = 6
_DEVICES = ("null", "zero", "full", "random", "urandom", "dri", "kfd", "nvidia*")
"""Devices that a policy computes with; serial ports, cameras and input devices are excluded."""


def version() -> int:
    """The Landlock version that the system offers; 0: none."""
    return max(0, int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, _VERSION)))


def scopes_signals() -> bool:
    """Whether a restricted process can signal only processes that are restricted like it."""
    return version() >= _SIGNALS_SINCE


def restrict(writable: Iterable[Path]) -> None:
    """Restricts this thread, its future threads and children; needs no_new_privs.

    They may read everything but devices, write beneath `writable` and use `_DEVICES`; they can
    neither trace nor read the memory, environment or descriptors of processes outside.
    """
    known = version()
    rights = _FIRST_RIGHTS
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEVICE)):
        rights |= right if known >= since else 0
    scopes = _SCOPE_SIGNALS | _SCOPE_SOCKETS if scopes_signals() else 0
    attributes = struct.pack("=QQQ", rights, 0, scopes)[: 24 if scopes else 8]
    libc = ctypes.CDLL(None, use_errno=True)
    ruleset = _done(libc.syscall(_CREATE, attributes, len(attributes), 0), "made")
    try:
        for place in Path("/").iterdir():
            if place != Path("/dev"):
                _allow(libc, ruleset, place, _READ & rights)
        for name in _DEVICES:
            for device in Path("/dev").glob(name):
                allowed = _READ | _WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE
                _allow(libc, ruleset, device, allowed & rights)
        for folder in writable:
            _allow(libc, ruleset, folder, rights & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEVICE))
        _done(libc.syscall(_RESTRICT, ruleset, 0), "entered")
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, place: Path, rights: int) -> None:
    try:
        descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # a path that does not exist needs no rule
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        _done(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0), f"given {place}")
    finally:
        os.close(descriptor)


def _done(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"the Landlock rules could not be {what}")
    return result
