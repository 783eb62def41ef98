"""Real-time priority for threads on the stop path."""

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
    """A thread's scheduling policy (`os.SCHED_*`) and real-time priority."""

    kind: int
    priority: int


def raise_priority() -> Policy:
    """Requests real-time priority for this thread and all threads that it starts later.

    For work that needs little CPU time: a loaded machine must not delay a heartbeat. Returns the
    previous policy, which stays in effect where the system grants no real-time priority.
    """
    before = Policy(os.sched_getscheduler(0), os.sched_getparam(0).sched_priority)
    with contextlib.suppress(OSError):
        if before.kind == os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_REAL_TIME))
    return before


def priority_hint() -> str:
    """How to grant this user real-time priority; empty if it is already granted."""
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
    """Undoes `raise_priority` for this thread and later ones, and lowers their nice value instead.

    Called once the transport's own threads run: only these keep real-time priority, so that a busy
    process still receives.
    """
    restore_priority(before)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)


@contextlib.contextmanager
def urgent() -> Iterator[None]:
    """Gives real-time priority to threads started in the block, and to this one until its end."""
    before = raise_priority()
    try:
        yield
    finally:
        restore_priority(before)


def restore_priority(before: Policy) -> None:
    """Undoes `raise_priority` for this thread."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, before.kind, os.sched_param(before.priority))


class Urgency:
    """Real-time priority of a node's executor thread while the node is active, if wanted."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._before: Policy | None = None

    def begin(self) -> None:
        """Requests real-time priority; call it on the executor thread."""
        if self._wanted and self._before is None:
            self._before = raise_priority()

    def end(self) -> None:
        """Restores the priority; call it on the same thread. A no-op without `begin`."""
        before, self._before = self._before, None
        if before is not None:
            restore_priority(before)
