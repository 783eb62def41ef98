"""However the owner of an arm ends, the arm ends without power and without a drop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .feetech_arm import calibrate, require_soft_release
from .feetech_simulator import FeetechSimulator

OWNER = """
import ctypes, os, signal, sys, threading, time
from openral.hal.feetech.hal import FeetechHAL
from openral.manifest import load_robot

robot = load_robot("so101_follower")
hal = FeetechHAL(robot, port=sys.argv[1], calibration=sys.argv[2], ramp_seconds=0.1, timeout=0.03)
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


def start(simulator: FeetechSimulator, folder: Path, end: str) -> subprocess.Popen[bytes]:
    path = calibrate(simulator, folder)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, simulator.port, str(path), end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"moving\n"
    assert simulator.register("torque_enable") == [1] * 6
    return owner


def finish(owner: subprocess.Popen[bytes]) -> int:
    owner.kill()
    for stream in (owner.stdin, owner.stdout):
        assert stream is not None
        stream.close()
    return owner.wait()


def wait_until_off(simulator: FeetechSimulator) -> None:
    deadline = time.monotonic() + 30
    done = {"torque_enable": [0] * 6, "torque_limit": [1000] * 6}
    while any(simulator.register(name) != values for name, values in done.items()):
        assert time.monotonic() < deadline, "the arm was never released"
        time.sleep(0.02)


@pytest.mark.parametrize("end", ["exception", "native crash", "forgotten", "forked"])
def test_a_process_that_ends_without_closing_leaves_the_arm_off(end: str, tmp_path: Path) -> None:
    with FeetechSimulator() as simulator:
        owner = start(simulator, tmp_path, end)
        assert owner.stdin is not None
        owner.stdin.write(b"\n")
        owner.stdin.flush()
        if end != "forgotten":
            owner.wait(timeout=30)
        wait_until_off(simulator)
        require_soft_release(simulator)
        finish(owner)


@pytest.mark.parametrize(
    ("number", "whole_group"),
    [
        (signal.SIGINT, True),
        (signal.SIGTERM, True),
        (signal.SIGHUP, True),
        (signal.SIGKILL, True),
    ],
)
def test_a_process_that_is_killed_leaves_the_arm_off(
    number: signal.Signals, whole_group: bool, tmp_path: Path
) -> None:
    with FeetechSimulator() as simulator:
        owner = start(simulator, tmp_path, "signal")
        (os.killpg if whole_group else os.kill)(owner.pid, number)
        owner.wait(timeout=30)
        wait_until_off(simulator)
        require_soft_release(simulator)
        finish(owner)
