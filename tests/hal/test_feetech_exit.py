"""However the owner of an arm ends, the arm ends without power and without a drop."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ros.conftest import inheriting

from .feetech_arm import calibrate, require_soft_release
from .feetech_simulator import FeetechSimulator

OWNER = """
import ctypes, os, signal, sys, threading, time
from openral.hal.drivers.feetech.hal import FeetechHAL
from openral.manifest import load_robot
from openral.signals import heed_signals

heed_signals()
robot = load_robot("so101_follower")
hal = FeetechHAL(robot, port=sys.argv[1], calibration=sys.argv[2], ramp_seconds=0.1, timeout=0.5)
hal.connect()
hal.send(robot.home_position)
print("moving", flush=True)
sys.stdin.readline()
match sys.argv[3]:
    case "exception":
        raise RuntimeError("a bug in the owner")
    case "native crash":
        ctypes.string_at(0)
    case "forgotten":
        del hal
        print("forgotten", flush=True)
        time.sleep(60)
    case "forked":
        if os.fork() == 0:
            sys.stdin.readline()
            os._exit(0)
        os._exit(3)
    case "signal":
        threading.Event().wait()
"""


@contextlib.contextmanager
def owner(simulator: FeetechSimulator, folder: Path, end: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program that owns a moving arm; whatever happens, it is gone afterwards."""
    path = calibrate(simulator, folder)
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, simulator.port, str(path), end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"moving\n"
            assert simulator.register("torque_enable") == [1] * 6
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wait_until_off(simulator: FeetechSimulator) -> None:
    deadline = time.monotonic() + 30
    done = {"torque_enable": [0] * 6, "torque_limit": [1000] * 6}
    while any(simulator.register(name) != values for name, values in done.items()):
        assert time.monotonic() < deadline, "the arm was never released"
        time.sleep(0.02)


@pytest.mark.parametrize("end", ["exception", "native crash", "forgotten", "forked"])
def test_a_process_that_ends_without_closing_leaves_the_arm_off(end: str, tmp_path: Path) -> None:
    with FeetechSimulator() as simulator, owner(simulator, tmp_path, end) as process:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        if end != "forgotten":
            process.wait(timeout=30)
        wait_until_off(simulator)
        require_soft_release(simulator)


@pytest.mark.parametrize("inherited", [signal.SIG_DFL, signal.SIG_IGN], ids=["default", "ignored"])
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda n: n.name
)
def test_a_process_that_is_killed_leaves_the_arm_off(
    number: signal.Signals, inherited: signal.Handlers, tmp_path: Path
) -> None:
    """Also under `nohup` and from a script's background, where signals are ignored at first."""
    with (
        FeetechSimulator() as simulator,
        inheriting(inherited),
        owner(simulator, tmp_path, "signal") as process,
    ):
        os.killpg(process.pid, number)
        process.wait(timeout=30)
        wait_until_off(simulator)
        require_soft_release(simulator)
