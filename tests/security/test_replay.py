"""What was said in a former run, or under another kernel, moves and stops nothing in this one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from openral.graph import topics
from openral.graph.run_key import RunKey
from openral.graph.sealed import TYPE as SEALED
from openral.graph.sealed import sealed_topic
from openral.graph.topics import TIME_LEASE
from openral.ros.qos import CLOCK
from tests.hal.node_rig import ARMED, HOLDING, MSGS, LiveGraph, live_graph
from tests.ros.conftest import domain, wait_until  # noqa: F401 - a fixture
from tests.system.hostile import Hostile

JOINT = "shoulder_pan_joint"
HEARD = {
    topics.JOINT_STATES: topics.SENSOR,
    topics.HAL_STATE: topics.SENSOR,
    topics.SAFETY_STATE: topics.LATCHED,
    TIME_LEASE: topics.STATE,
    "/clock": CLOCK,
}
"""The sealed topics of a graph without a map."""
KEPT = 2_000
STILL = 0.01

Recorded = list[tuple[str, bytes]]


def moves(live: LiveGraph) -> None:
    """A motion there and back is executed to its end."""
    for way in (0.2, -0.2):
        goal = live.q[0] + way
        live.under_way(JOINT, way, 0.5)
        wait_until(lambda: abs(live.q[0] - goal) < STILL and live.state.state == HOLDING, 60.0)  # noqa: B023


@contextmanager
def recording(live: LiveGraph) -> Iterator[Recorded]:
    """All that is sealed or signed, as somebody on the bus hears it."""
    kept: Recorded = []

    def keep(topic: str, payload: bytes) -> None:
        if len(kept) < KEPT or topic == topics.SAFE_ACTION:
            kept.append((topic, bytes(payload)))

    listen = live.node.create_subscription
    ears = [
        listen(SEALED, sealed_topic(topic), lambda p, t=topic: keep(t, p), qos, raw=True)
        for topic, qos in HEARD.items()
    ]
    kind, topic = f"{MSGS}/SafeAction", topics.SAFE_ACTION
    ears.append(listen(kind, topic, lambda p: keep(topic, p), topics.COMMAND, raw=True))
    wait_until(lambda: all(ear.publisher_count for ear in ears))
    yield kept
    for ear in ears:
        live.node.destroy_subscription(ear)


def replay(live: LiveGraph, recorded: Recorded) -> None:
    """Says it all again, as fast as it can be taken; the robot must not notice."""
    pose, since = live.q, len(live.heard[topics.JOINT_STATES])
    with Hostile(live.graph.domain) as hostile:
        outs = {
            topic: hostile.publisher(SEALED, sealed_topic(topic), qos)
            for topic, qos in HEARD.items()
        }
        outs[topics.SAFE_ACTION] = hostile.publisher(
            f"{MSGS}/SafeAction", topics.SAFE_ACTION, topics.COMMAND
        )
        for number, (topic, payload) in enumerate(recorded):
            outs[topic].publish_bytes(payload)
            if number % 20 == 0:
                time.sleep(0.002)
        time.sleep(0.3)
    states = live.heard[topics.JOINT_STATES][since:]
    drift = max(
        float(np.abs(np.array(state.position)[[state.name.index(JOINT)]] - pose[0]).max())
        for state in states
    )
    assert drift < STILL, "it moved"


@pytest.fixture(scope="module")
def former(domain: int) -> Recorded:  # noqa: F811
    """A run that is over."""
    with live_graph(domain, "ur5e") as live:
        live.start_both()
        live.arm()
        with recording(live) as kept:
            moves(live)
    assert {topic for topic, _ in kept} == {*HEARD, topics.SAFE_ACTION}
    return kept


@pytest.fixture(scope="module")
def live(domain: int, former: Recorded) -> Iterator[LiveGraph]:  # noqa: F811
    """The next run in the same domain."""
    with live_graph(domain, "ur5e") as made:
        made.start_both()
        yield made


def test_a_former_run_is_refused_by_the_next(live: LiveGraph, former: Recorded) -> None:
    """The same robot, the same pose, the same times: everything fits but the key."""
    live.arm()
    before, stops = live.state, len(live.heard[topics.ESTOP])
    actions = sum(topic == topics.SAFE_ACTION for topic, _ in former)
    replay(live, former)
    wait_until(lambda: live.state.bad_mac >= before.bad_mac + actions)
    assert live.state.sequence == before.sequence
    assert live.safety.state == ARMED
    assert len(live.heard[topics.ESTOP]) == stops
    moves(live)


def test_a_second_kernel_of_another_key_neither_moves_nor_holds_the_robot(live: LiveGraph) -> None:
    """A colleague starts one by hand: its heartbeats and actions are not this run's."""
    live.arm()
    epoch, states = live.safety.epoch, live.heard[topics.SAFETY_STATE]
    own, live.key = live.key, RunKey.create()
    second = live.start_kernel()
    live.key = own
    wait_until(lambda: any(state.epoch != epoch for state in states[-50:]), 60.0)
    before, since = live.state, len(states)
    live.candidates.publish(live.swing(JOINT, 0.1, 0.5))
    time.sleep(1.0)
    mine = [state for state in states[since:] if state.epoch == epoch]
    assert mine, "the first kernel's heartbeat is gone"
    assert all(state.state == ARMED for state in mine)
    assert live.state.epoch == epoch
    assert second.poll() is None
    second.kill()
    second.wait()
    wait_until(lambda: live.safety.epoch == epoch)
    moves(live)
    assert live.state.expired == before.expired


def test_what_a_dead_kernel_said_is_refused_under_the_next(live: LiveGraph) -> None:
    """One run and one key: the new kernel's epoch is later than all that was said before."""
    live.arm()
    with recording(live) as kept:
        moves(live)
    old = live.safety.epoch
    kernel = live.processes[1]
    kernel.kill()
    kernel.wait()
    live.start_kernel()
    wait_until(lambda: live.safety.epoch != old and live.candidates.has_subscribers, 60.0)
    live.arm()
    moves(live)
    before = live.state
    replay(live, kept)
    wait_until(lambda: live.state.replayed > before.replayed)
    assert live.safety.state == ARMED
    assert live.state.epoch == before.epoch
    moves(live)
