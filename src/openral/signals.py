"""Signals that ask a program to end: heeded whatever the program inherited.

A shell ignores SIGINT for what it starts in the background, `nohup` ignores SIGHUP, and children
inherit it. A program that moves a robot must end when it is asked to, from cron and CI too.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals by which a person, a service manager and a closed terminal end a program."""


def heed_signals() -> None:
    """Ends this program in order at any of these signals; call it first, on the main thread.

    SIGINT raises KeyboardInterrupt; the others raise SystemExit, so that `finally` is run.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
