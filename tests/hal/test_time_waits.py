"""Simulated time waits for a slow kernel: a busy machine costs time, and never a stop."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from openral.graph import topics
from openral.graph.sealed import subscribe_sealed
from openral.graph.time_lease import TOPIC, TYPE
from openral.hal import topics as hal_topics
from openral.ros.clock import NS
from openral.ros.qos import CLOCK, STATE
from tests.hal.node_rig import ARMED, EXECUTING, HOLDING, LiveGraph, live_graph
from tests.ros.conftest import domain, wait_until  # noqa: F401 - a fixture

JOINT = "panda_joint1"
LEASE_S = 0.065


@pytest.fixture(scope="module")
def live(domain: int) -> Iterator[LiveGraph]:  # noqa: F811
    with live_graph(domain, "franka_panda") as made:
        made.hear("rosgraph_msgs/msg/Clock", "/clock", CLOCK)
        leases = made.heard.setdefault(TOPIC, [])
        subscribe_sealed(made.node, made.key, TYPE, TOPIC, leases.append, STATE)
        made.hear("diagnostic_msgs/msg/DiagnosticArray", hal_topics.DIAGNOSTICS, topics.STATE)
        made.start_both("sim_env_yaml=tabletop_push")
        yield made


def ticks(live: LiveGraph) -> list[int]:
    return [tick.clock.sec * NS + tick.clock.nanosec for tick in list(live.heard["/clock"])]


def frozen(live: LiveGraph, process: Any, seconds: float) -> tuple[int, int]:
    """Freezes a process; how far simulated time had come when it stood, and when it went on."""
    process.send_signal(signal.SIGSTOP)
    try:
        wait_until(lambda: live.node.clock.simulated.silent_for_s() > 0.3)
        began = live.node.now()
        time.sleep(seconds)
        return began, live.node.now()
    finally:
        process.send_signal(signal.SIGCONT)


def test_time_stands_still_while_the_kernel_is_frozen_and_the_motion_goes_on(
    live: LiveGraph,
) -> None:
    start = live.q[0]
    live.under_way(JOINT, 0.3, 3.0)
    sequence, before = live.state.sequence, live.node.now()
    stood, went_on = frozen(live, live.processes[1], 1.0)
    assert went_on == stood, "simulated time advanced without the kernel"
    assert (stood - before) / NS < 0.5, "it did not wait at once"
    wait_until(lambda: live.state.state == HOLDING)
    assert (live.state.sequence, live.state.reason) == (sequence, "finished")
    wait_until(lambda: abs(live.q[0] - start - 0.3) < 0.01)
    assert live.safety.state == ARMED
    assert not live.heard[topics.ESTOP]
    assert not live.heard[hal_topics.FAILURE]
    told = ticks(live)
    assert all(a <= b for a, b in itertools.pairwise(told)), "time went back"


def test_a_motion_is_judged_as_usual_after_many_short_freezes(live: LiveGraph) -> None:
    """A machine that is busy all the time: each pause is longer than the heartbeat's deadline."""
    live.arm()
    kernel, states = live.processes[1], live.heard[topics.HAL_STATE]
    seen = len(states)
    live.under_way(JOINT, -0.3, 1.5)
    for _ in range(8):
        kernel.send_signal(signal.SIGSTOP)
        time.sleep(0.15)
        kernel.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    wait_until(lambda: live.state.state == HOLDING)
    assert live.state.reason == "finished"
    rows = [state.row for state in states[seen:] if state.state == EXECUTING]
    assert rows == sorted(rows)
    assert live.safety.state == ARMED
    assert not live.heard[topics.ESTOP]


def test_a_hal_that_is_frozen_goes_on_where_it_was(live: LiveGraph) -> None:
    live.arm()
    live.under_way(JOINT, 0.3 if live.q[0] < 0 else -0.3, 3.0)
    sequence = live.state.sequence
    stood, went_on = frozen(live, live.processes[0], 1.0)
    assert went_on == stood
    wait_until(lambda: live.state.state == HOLDING)
    assert (live.state.sequence, live.state.reason) == (sequence, "finished")
    assert live.safety.state == ARMED
    assert not live.heard[topics.ESTOP]


def test_time_never_passes_the_kernels_lease(live: LiveGraph) -> None:
    """As seen from outside: a lease that is published is never older than its own length."""
    live.arm()
    leases = [lease for lease in live.heard[TOPIC] if lease.holder == "safety_kernel"]
    assert len(leases) > 20
    ahead = [
        (lease.until.sec - lease.header.stamp.sec) * NS
        + lease.until.nanosec
        - lease.header.stamp.nanosec
        for lease in leases
        if lease.until.sec or lease.until.nanosec
    ]
    assert np.max(ahead) <= LEASE_S * NS + 1


def test_a_node_says_whom_time_waits_for(live: LiveGraph) -> None:
    def waits_for() -> list[str]:
        arrays = list(live.heard[hal_topics.DIAGNOSTICS])
        pairs = [pair for array in arrays for status in array.status for pair in status.values]
        return [pair.value for pair in pairs if pair.key == "time_waits_for" and pair.value]

    kernel = live.processes[1]
    before = len(waits_for())
    kernel.send_signal(signal.SIGSTOP)
    try:
        wait_until(lambda: len(waits_for()) > before, 8.0)
    finally:
        kernel.send_signal(signal.SIGCONT)
    assert waits_for()[-1] == "safety_kernel"
    assert live.safety.state == ARMED
