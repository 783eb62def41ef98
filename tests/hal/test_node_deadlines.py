"""A kernel that is lost under a motion: the robot is held, and nothing moves before a reset."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest

from openral.graph import topics
from tests.hal.node_rig import (
    ESTOPPED,
    HOLDING,
    STOPPED,
    STRICT,
    LiveGraph,
    live_graph,
)
from tests.ros.conftest import domain, wait_until  # noqa: F401 - a fixture

JOINT = "panda_joint1"
LOST_S = 60.0
"""Longest wait for a loss to be noticed: it takes 10 s where simulated time waits."""


@pytest.fixture(scope="module")
def live(domain: int) -> Iterator[LiveGraph]:  # noqa: F811
    with live_graph(domain, "franka_panda", real_time=STRICT) as made:
        made.start_both("sim_env_yaml=tabletop_push")
        yield made


def move(live: LiveGraph, seconds: float) -> None:
    """Has a motion accepted, and waits until it is under way."""
    live.under_way(JOINT, 0.3 if live.q[0] < 0 else -0.3, seconds)


def is_held(live: LiveGraph) -> bool:
    return bool(live.state.state == HOLDING and live.state.reason == "heartbeat_lost")


def at_rest(live: LiveGraph) -> bool:
    return bool(live.speed < 0.01)


def test_a_frozen_kernel_ends_motion_and_cannot_go_on_when_it_comes_back(live: LiveGraph) -> None:
    move(live, 3.0)
    kernel = live.processes[1]
    kernel.send_signal(signal.SIGSTOP)
    wait_until(
        lambda: live.state.state == HOLDING and live.state.reason == "heartbeat_lost", LOST_S
    )
    wait_until(lambda: at_rest(live))
    assert any(event.source == "hal" for event in live.heard[topics.ESTOP])
    place = live.q
    kernel.send_signal(signal.SIGCONT)
    live.candidates.publish(live.swing(JOINT, 0.1, 0.5))
    wait_until(lambda: live.safety.state == ESTOPPED)
    wait_until(lambda: live.state.state == STOPPED)
    assert np.abs(live.q - place).max() < 0.01
    move(live, 0.8)


def test_a_killed_kernel_ends_motion_and_its_successor_must_be_armed(live: LiveGraph) -> None:
    move(live, 3.0)
    live.processes[1].kill()
    wait_until(
        lambda: live.state.state == HOLDING and live.state.reason == "heartbeat_lost", LOST_S
    )
    wait_until(lambda: at_rest(live))
    old = live.safety.epoch
    live.start_kernel()
    wait_until(lambda: live.safety.epoch != old and live.candidates.has_subscribers)
    place = live.q
    time.sleep(0.2)
    assert np.abs(live.q - place).max() < 0.01
    move(live, 0.8)
    wait_until(lambda: live.state.epoch == live.safety.epoch)
