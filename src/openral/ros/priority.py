"""Priority for processes that others' safety waits for."""

from __future__ import annotations

import os
from collections.abc import Callable

_NICE = -10
_REAL_TIME = 5


def raise_priority() -> bool:
    """Asks to run before everything ordinary, for all threads that start later; False: not allowed.

    For what needs little time itself: a loaded machine must not make a heartbeat late.
    """
    return _granted(lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_REAL_TIME)))


def settle_priority() -> bool:
    """Takes `raise_priority` back for the threads that start later; those stay a bit ahead.

    Called once the transport's own threads are there: they alone must never be late, so that a
    busy process is not deaf.
    """

    def settle() -> None:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)

    return _granted(settle)


def _granted(call: Callable[[], None]) -> bool:
    try:
        call()
    except OSError:
        return False
    return True
