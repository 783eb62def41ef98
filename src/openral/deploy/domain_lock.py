"""Locks a DDS domain for one graph: a second one would share its clock, services and stops."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from openral.errors import ConfigError


@contextlib.contextmanager
def domain_lock(domain: int) -> Iterator[None]:
    """Locks the domain on this machine; ConfigError if another graph has it.

    The system releases the lock when the process ends, however that happens.
    """
    path = _folder() / f"openral-{os.geteuid()}-graph-{domain}.lock"
    descriptor = _open(path)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            raise ConfigError(
                f"domain {domain} has a graph already (process {holder}): end that one, "
                "or give this one a domain of its own with --domain"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _folder() -> Path:
    """The user's runtime folder where there is a private one, else the temporary folder."""
    own = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nowhere")
    with contextlib.suppress(OSError):
        found = own.stat()
        if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == 0o700:
            return own
    return Path(tempfile.gettempdir())


def _open(path: Path) -> int:
    """Opens the lock file; rejects links and files of other users placed there."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise ConfigError(f"{path} cannot be used to hold the domain: {error.strerror}") from None
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1:
        os.fchmod(descriptor, 0o600)
        return descriptor
    os.close(descriptor)
    raise ConfigError(f"{path} is not this user's own file: remove it, or set XDG_RUNTIME_DIR")
