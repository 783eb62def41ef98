"""Starts a node's program so that it cannot outlive the supervisor.

`python -m openral.deploy.launch PARENT SIGNAL MODULE name=value ...`: the kernel sends SIGNAL to
this process as soon as PARENT is gone, however PARENT ended.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with(parent: int, number: int) -> None:
    """Asks for the signal; ends at once if the parent is gone already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Becomes the node's program."""
    parent, number, module = sys.argv[1:4]
    die_with(int(parent), int(number))
    sys.argv = [module, *sys.argv[4:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
