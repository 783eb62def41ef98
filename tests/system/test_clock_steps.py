"""The system's date is set under a motion, ahead and back: nothing jumps, nothing is stuck.

`clock_settime` would hit the whole machine, so the processes of the graph and this one see a date
that is shifted: in Python alone, where all of openral's uses of it are.
"""

from __future__ import annotations

import mmap
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from openral.graph import topics
from openral.ros.clock import NS
from tests.hal.node_rig import ARMED, EXECUTING, HOLDING, LiveGraph, live_graph
from tests.ros.conftest import domain, wait_until  # noqa: F401 - a fixture

SHIFT = """
import mmap, struct, time
with open({path!r}, "rb") as file:
    shared = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)
real_ns = time.time_ns
time.time_ns = lambda: real_ns() + struct.unpack("=q", shared[:8])[0]
time.time = lambda: time.time_ns() * 1e-9
"""
STEPS = (3600.0, -3600.0, -7.0, 7.0)
JOINT = "shoulder_pan_joint"
JUMP = 0.05
"""rad between two measurements: more than the motion has."""


class Date:
    """The date that all see; `step` sets it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        path = folder / "shift"
        path.write_bytes(bytes(8))
        self._file = path.open("r+b")
        self._shared = mmap.mmap(self._file.fileno(), 8)
        (folder / "sitecustomize.py").write_text(SHIFT.format(path=str(path)))
        patch.setenv("PYTHONPATH", str(folder), prepend=":")
        real_ns = time.time_ns
        patch.setattr(time, "time_ns", lambda: real_ns() + self._shift())

    def _shift(self) -> int:
        return int(struct.unpack("=q", self._shared[:8])[0])

    def step(self, seconds: float) -> None:
        self._shared[:8] = struct.pack("=q", self._shift() + round(seconds * NS))

    def close(self) -> None:
        self._shared.close()
        self._file.close()


@pytest.fixture
def date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Date]:
    made = Date(tmp_path, monkeypatch)
    yield made
    monkeypatch.undo()
    made.close()


def moves(live: LiveGraph) -> None:
    live.under_way(JOINT, 0.1 if live.q[0] < live.robot.home_position[0] else -0.1, 0.5)
    wait_until(lambda: live.state.state == HOLDING, 60.0)


def under_steps(live: LiveGraph, date: Date) -> list[int]:
    """Steps the date under motions; the kernel's states after each."""
    found, states = [], live.heard[topics.JOINT_STATES]
    for seconds in STEPS:
        live.arm()
        since = len(states)
        live.under_way(JOINT, 0.3 if live.q[0] < live.robot.home_position[0] else -0.3, 1.5)
        date.step(seconds)
        time.sleep(1.0)
        found.append(live.safety.state)
        wait_until(lambda: live.state.state != EXECUTING, 60.0)
        q = [state.position[state.name.index(JOINT)] for state in states[since:]]
        assert float(np.abs(np.diff(q)).max()) < JUMP
        moves(live)
    return found


def test_simulated_time_does_not_notice(date: Date, domain: int) -> None:  # noqa: F811
    with live_graph(domain, "ur5e") as live:
        live.start_both()
        stops = len(live.heard[topics.ESTOP])
        assert under_steps(live, date) == [ARMED] * len(STEPS)
        assert len(live.heard[topics.ESTOP]) == stops


def test_on_wall_time_motion_ends_or_goes_on_and_comes_back(date: Date, domain: int) -> None:  # noqa: F811
    """As on hardware: what is old or from the future is dropped until new measurements come."""
    with live_graph(domain, "ur5e", sim_time=False) as live:
        live.start_both("wall_clock=true")
        print(under_steps(live, date))
