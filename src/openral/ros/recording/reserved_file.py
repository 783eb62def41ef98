"""ReservedFile: reserves disk space ahead, so that a file can be completed on a full disk."""

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
    """A write-only file; `reserve` claims disk space in advance, `close` frees what is unused."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb")
        self._position = 0
        self._reserved = 0
        self._can_reserve = True

    def reserve(self, size: int) -> None:
        """Ensures that `size` more bytes can be written; OSError if there is no space."""
        need = self._position + size
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if limit != resource.RLIM_INFINITY and need > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        if need <= self._reserved or not self._can_reserve:
            return
        # A larger step saves calls; on a nearly full disk only what is needed is reserved.
        for target in (need + _STEP, need):
            code = _fallocate(self._file.fileno(), self._reserved, target - self._reserved)
            if code == 0:
                self._reserved = target
                return
            if code not in _FULL:
                self._can_reserve = False  # unsupported here: a write reports a full disk
                return
        raise OSError(code, os.strerror(code))

    def write(self, data: bytes) -> int:
        """Appends `data`; returns the number of bytes written."""
        written = self._file.write(data)
        self._position += written
        return written

    def tell(self) -> int:
        """Bytes written so far."""
        return self._position

    def flush(self) -> None:
        """Passes buffered data to the operating system."""
        self._file.flush()

    def close(self) -> None:
        """Frees what was reserved and not used, and waits until the data is on disk."""
        try:
            self._file.flush()
            os.ftruncate(self._file.fileno(), self._position)
            os.fsync(self._file.fileno())
        finally:
            self._file.close()


def _fallocate(descriptor: int, start: int, size: int) -> int:
    """Allocates blocks without changing the file's size; returns 0 or an errno.

    os.posix_fallocate would extend the file, and a killed recording would end in zeros.
    """
    call = getattr(ctypes.CDLL(None, use_errno=True), "fallocate", None)
    if call is None:
        return errno.ENOSYS
    arguments = ctypes.c_int(descriptor), ctypes.c_int(_KEEP_SIZE)
    failed = call(*arguments, ctypes.c_int64(start), ctypes.c_int64(size))
    return ctypes.get_errno() if failed else 0
