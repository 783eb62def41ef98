"""Priority for processes that others' safety waits for."""

from __future__ import annotations

import contextlib
import getpass
import os
from collections.abc import Iterator
from dataclasses import dataclass

_NICE = -10
_REAL_TIME = 5


@dataclass(frozen=True)
class Policy:
    """How a thread is scheduled."""

    kind: int
    priority: int


def raise_priority() -> Policy:
    """Asks to run before everything ordinary, for all threads that start later.

    For what needs little time itself: a loaded machine must not make a heartbeat late. Returns how
    it was before; where the system does not allow it, it stays so.
    """
    before = Policy(os.sched_getscheduler(0), os.sched_getparam(0).sched_priority)
    with contextlib.suppress(OSError):
        if before.kind == os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_REAL_TIME))
    return before


def priority_hint() -> str:
    """How this user can be granted real-time priority; empty: it is granted."""
    before = raise_priority()
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        restore_priority(before)
        return ""
    user = getpass.getuser()
    return (
        f"user '{user}' has no real-time priority; to grant it, add the line '{user} - rtprio 10' "
        "to /etc/security/limits.d/openral.conf and log in again"
    )


def settle_priority(before: Policy) -> None:
    """Takes `raise_priority` back for the threads that start later; those stay a bit ahead.

    Called once the transport's own threads are there: they alone must never be late, so that a
    busy process is not deaf.
    """
    restore_priority(before)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)


@contextlib.contextmanager
def urgent() -> Iterator[None]:
    """Threads that start within run before everything ordinary; this one only meanwhile."""
    before = raise_priority()
    try:
        yield
    finally:
        restore_priority(before)


def restore_priority(before: Policy) -> None:
    """Takes `raise_priority` back."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, before.kind, os.sched_param(before.priority))


class Urgency:
    """The priority of a node's executor while the node is active, if that is wanted."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._before: Policy | None = None

    def begin(self) -> None:
        """To be called on the thread that is to go first."""
        if self._wanted and self._before is None:
            self._before = raise_priority()

    def end(self) -> None:
        """On the same thread; harmless if it did not begin."""
        before, self._before = self._before, None
        if before is not None:
            restore_priority(before)
