"""What measures a fault must not be late itself."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_REAL_TIME = 6


@contextlib.contextmanager
def urgent() -> Iterator[None]:
    """This thread, and those that it starts, run before ordinary ones, where that is allowed."""
    kind, priority = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_REAL_TIME))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, kind, priority)
