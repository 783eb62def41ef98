"""One graph in a domain: a second one would share its clock, its services and its stops."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from openral.errors import ConfigError


@contextlib.contextmanager
def domain_lock(domain: int) -> Iterator[None]:
    """Holds the domain on this machine; ConfigError if another graph has it.

    The system lets it go when the process ends, however that happens.
    """
    path = Path(tempfile.gettempdir()) / f"openral-graph-{domain}.lock"
    descriptor = _open(path)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = path.read_text().strip() or "unknown"
            raise ConfigError(
                f"domain {domain} has a graph already (process {holder}): end that one, "
                "or give this one a domain of its own with --domain"
            ) from None
        with contextlib.suppress(OSError):  # another user's file tells no process
            os.truncate(path, 0)
            os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:  # another user made it
        return os.open(path, os.O_RDONLY)
