"""A process that outlives the arm's owner and switches torque off if the owner did not.

A thread, an exit hook or a signal handler dies with its process: none survives SIGKILL or a crash
in native code. The guardian inherits the open port (and its lock, so that no other process can open
it), sleeps until its owner sends "released" or is gone, and then releases the arm if necessary.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence

from openral.errors import OpenralError, TransportError
from openral.hal.drivers.feetech.bus import Bus
from openral.hal.drivers.feetech.port import Port
from openral.hal.drivers.feetech.release import release

_READY = b"r"
_RELEASED = b"x"
_START_PATIENCE = 30.0


class Guardian:
    """The owner's handle of its guardian process."""

    def __init__(self, bus: Bus, servos: Sequence[int], ramp_seconds: float) -> None:
        """Returns once the guardian is ready; only then may torque be switched on.

        `ramp_seconds`: how long the guardian takes to ramp the torque down.
        """
        command = [sys.executable, "-m", __name__, f"--fd={bus.port.fd}"]
        command += [f"--port={bus.port.name}", f"--owner={os.getpid()}", f"--ramp={ramp_seconds}"]
        command += [
            f"--timeout={bus.timeout}",
            f"--attempts={bus.attempts}",
            f"--echo={bus.echo:d}",
        ]
        self._process = subprocess.Popen(
            [*command, *map(str, servos)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[bus.port.fd],
            start_new_session=True,  # Ctrl-C reaches the owner only
        )
        assert self._process.stdin is not None
        # An owner that drops this object without closing the arm counts as gone.
        weakref.finalize(self, self._process.stdin.close).atexit = False
        if not self._is_ready():
            self._process.kill()
            self._process.wait()
            raise TransportError(f"{bus.port.name}: the guardian process did not start")

    @property
    def pid(self) -> int:
        """The guardian's process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def dismiss(self) -> None:
        """Reports that the arm is released and waits until the process has ended."""
        self._end(_RELEASED)

    def take_over(self) -> None:
        """Has the guardian release the arm now; returns when that is done or has failed."""
        self._end(b"")

    def _is_ready(self) -> bool:
        stdout = self._process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], _START_PATIENCE)[0]:
            return False
        return stdout.read(1) == _READY

    def _end(self, word: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(word)
            stdin.close()
        except OSError:  # it has ended already
            pass
        self._process.wait()


def _owner_is_gone(owner: int) -> bool:
    """Waits for the owner's message or its end; False when it released the arm itself."""
    watched = [0]
    if hasattr(os, "pidfd_open"):  # a forked sibling may keep the pipe open
        try:
            watched.append(os.pidfd_open(owner))
        except ProcessLookupError:
            return True
    if os.getppid() != owner:
        return True
    ready = select.select(watched, [], [])[0]
    return not (0 in ready and os.read(0, 1) == _RELEASED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the process; 1 if the arm could not be released."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--port", required=True)
    parser.add_argument("--owner", type=int, required=True)
    parser.add_argument("--ramp", type=float, required=True)
    parser.add_argument("--timeout", type=float, required=True)
    parser.add_argument("--attempts", type=int, required=True)
    parser.add_argument("--echo", type=int, required=True)
    parser.add_argument("servos", type=int, nargs="+")
    given = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a stopping service signals all its processes
    os.write(1, _READY)
    if not _owner_is_gone(given.owner):
        return 0
    port = Port(given.fd, given.port)
    bus = Bus(port, timeout=given.timeout, attempts=given.attempts, echo=bool(given.echo))
    try:
        release(bus, given.servos, given.ramp)
    except OpenralError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
