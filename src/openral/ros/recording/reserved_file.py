"""A file that always has room left to be finished properly, even on a full disk."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
from pathlib import Path

_STEP = 16 * 1024 * 1024
_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
_KEEP_SIZE = 1


class ReservedFile:
    """Write-only; `reserve` claims disk space before it is needed. Closing gives back the rest."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb")
        self._position = 0
        self._reserved = 0
        self._can_reserve = True

    def reserve(self, size: int) -> None:
        """Makes sure that `size` more bytes can be written; OSError if there is no room."""
        need = self._position + size
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if limit != resource.RLIM_INFINITY and need > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        if need <= self._reserved or not self._can_reserve:
            return
        # A larger step saves calls; near the end of the disk only what is needed counts.
        for target in (need + _STEP, need):
            code = _fallocate(self._file.fileno(), self._reserved, target - self._reserved)
            if code == 0:
                self._reserved = target
                return
            if code not in _FULL:
                self._can_reserve = False  # this system cannot: writing will tell
                return
        raise OSError(code, os.strerror(code))

    def write(self, data: bytes) -> int:
        """Appends."""
        written = self._file.write(data)
        self._position += written
        return written

    def tell(self) -> int:
        """Bytes written so far."""
        return self._position

    def flush(self) -> None:
        """Hands what is buffered to the operating system."""
        self._file.flush()

    def close(self) -> None:
        """Gives back what was reserved and not used, and waits until the disk has the rest."""
        try:
            self._file.flush()
            os.ftruncate(self._file.fileno(), self._position)
            os.fsync(self._file.fileno())
        finally:
            self._file.close()


def _fallocate(descriptor: int, start: int, size: int) -> int:
    """Claims blocks without changing the file's size; 0 or an errno.

    os.posix_fallocate would make the file longer, and a killed recording end in zeros.
    """
    call = getattr(ctypes.CDLL(None, use_errno=True), "fallocate", None)
    if call is None:
        return errno.ENOSYS
    arguments = ctypes.c_int(descriptor), ctypes.c_int(_KEEP_SIZE)
    failed = call(*arguments, ctypes.c_int64(start), ctypes.c_int64(size))
    return ctypes.get_errno() if failed else 0
