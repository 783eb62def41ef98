"""Starts a node's program so that it cannot outlive the supervisor.

`python -m openral.deploy.launch PARENT SIGNAL NICE MODULE name=value ...`: the system sends SIGNAL
to this process as soon as PARENT is gone, however PARENT ended. From here on, other processes of
the user cannot read the node's memory, and a lent key is received before the node is imported.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import runpy
import signal
import sys
from contextlib import suppress
from pathlib import Path

from openral.graph.run_key import RunKey
from openral.signals import heed_signals
from openral.undumpable import make_undumpable

_PR_SET_PDEATHSIG = 1


def die_with(parent: int, number: int) -> None:
    """Requests signal `number` when the parent dies; ends at once if it is gone already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def be_nice(nice: int) -> None:
    """Requests a nice value; it is no fault where that is not granted."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    with suppress(OSError):  # where the system divides CPU time between sessions first
        Path("/proc/self/autogroup").write_text(str(nice))


def main() -> None:
    """Runs the node's program in this process."""
    heed_signals()
    parent, number, nice, module = sys.argv[1:5]
    die_with(int(parent), int(number))
    be_nice(int(nice))
    make_undumpable()
    RunKey.receive_or_exit()
    sys.argv = [module, *sys.argv[5:]]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code: object = 0
    except SystemExit as ended:
        code = ended.code
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    # Tearing down the interpreter's modules would take a good part of the time after a Ctrl-C.
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    main()
