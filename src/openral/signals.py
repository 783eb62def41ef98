"""Termination signals: installs handlers regardless of what the process inherited.

A shell ignores SIGINT for background jobs, `nohup` ignores SIGHUP, and children inherit that. A
program that moves a robot must end on request, also under cron and CI.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals by which a user, a service manager and a closed terminal end a program."""


def heed_signals() -> None:
    """Makes these signals end the program cleanly; call it first, on the main thread.

    SIGINT raises KeyboardInterrupt; the others raise SystemExit, so that `finally` blocks run.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
