"""Floods of what nobody of the run has said, and crowds that come and go: the graph goes on.

With OPENRAL_SOAK set it is 10⁶ messages and 100 participants.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from openral.graph import topics
from openral.graph.deadlines import SILENT_S
from openral.graph.sealed import subscribe_sealed
from openral.ros import msg
from tests.hal.node_rig import ARMED, ESTOPPED, HOLDING, MSGS, LiveGraph, live_graph
from tests.ros.conftest import domain, wait_until  # noqa: F401 - a fixture
from tests.system.hostile import Hostile

ROOT = Path(__file__).parents[2]
SOAK = "OPENRAL_SOAK" in os.environ
MESSAGES, WARM_UP = (1_000_000, 100_000) if SOAK else (20_000, 5_000)
PARTICIPANTS = 100 if SOAK else 10
GROWTH_MB = 8.0
JOINT = "shoulder_pan_joint"
CROWD = """
import os, sys
from openral.ros.node.context import Context
from openral.ros.transport.dds_config import Network
from openral.ros.node.node import Node
from openral.graph import topics
contexts = []
for number in range(int(sys.argv[2])):
    context = Context(Network(int(sys.argv[1])))
    node = Node(f"guest{number}", context=context)
    node.create_subscription("sensor_msgs/msg/JointState", topics.JOINT_STATES, id, topics.SENSOR)
    node.create_publisher("openral_msgs/msg/ActionChunk", topics.CANDIDATE, topics.COMMAND)
    contexts.append(context)
    if number % 3:
        contexts.pop(0).close()
os._exit(0)  # the others go without a word
"""


def used(pid: int) -> tuple[float, int]:
    """Megabytes and threads."""
    fields = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return int(fields["VmRSS"].split()[0]) / 1024, int(fields["Threads"])


@pytest.fixture(scope="module")
def live(domain: int) -> Iterator[LiveGraph]:  # noqa: F811
    with live_graph(domain, "ur5e") as made:
        made.start_both()
        yield made


@contextmanager
def heartbeat_kept(live: LiveGraph, state: int) -> Iterator[None]:
    """Meanwhile the true kernel is heard, never for long not, and always in this state."""
    beats: list[tuple[float, int]] = []
    ear = subscribe_sealed(
        live.node,
        live.key,
        f"{MSGS}/SafetyState",
        topics.SAFETY_STATE,
        lambda said: beats.append((time.monotonic(), said.state)),
        topics.LATCHED,
    )
    wait_until(lambda: len(beats) > 10)
    yield
    live.node.destroy_subscription(ear)
    gaps = np.diff([at for at, _ in beats])
    assert float(np.median(gaps)) < 0.1
    assert float(gaps.max()) < SILENT_S / 2, "the kernel stood still"
    assert {said for _, said in beats} <= {state, beats[0][1]}


def moves(live: LiveGraph) -> None:
    live.under_way(JOINT, 0.1, 0.5)
    wait_until(lambda: live.state.state == HOLDING, 60.0)


def send(live: LiveGraph, count: int) -> float:
    """So many messages from a process of its own; seconds that it took."""
    program = [sys.executable, "-m", "tests.security.programs.garbage", str(live.graph.domain)]
    with subprocess.Popen([*program, str(count)], cwd=ROOT, stdout=subprocess.PIPE) as flood:
        assert flood.stdout is not None
        assert flood.stdout.readline() == b"begins\n"
        began = time.monotonic()
        assert flood.stdout.readline() == b"sent\n"
        return time.monotonic() - began


def test_garbage_at_every_input_neither_stops_nor_moves_nor_fills_anything(
    live: LiveGraph,
) -> None:
    hal, kernel = live.processes[:2]
    live.arm()
    send(live, WARM_UP)
    before, pose = [used(hal.pid), used(kernel.pid)], live.q
    refused, sequence = live.state.bad_mac, live.state.sequence
    with heartbeat_kept(live, ARMED):
        seconds = send(live, MESSAGES)
        time.sleep(0.5)  # what it said is no longer the last that was heard
    after = [used(hal.pid), used(kernel.pid)]
    print(f"{MESSAGES / seconds:.0f} messages a second; before {before}, after {after}")
    assert live.state.sequence == sequence
    assert np.abs(live.q - pose).max() < 0.01
    wait_until(lambda: live.state.bad_mac > refused)
    for (memory, threads), (later, more) in zip(before, after, strict=True):
        assert later - memory < GROWTH_MB
        assert more == threads
    wait_until(lambda: live.trigger(topics.RESET).success, 60.0)
    moves(live)


def test_a_flood_of_stops_stops_and_nothing_else(live: LiveGraph) -> None:
    """Whoever floods keeps the robot stopped; afterwards one reset is enough."""
    live.arm()
    kernel = live.processes[1]
    before = used(kernel.pid)
    with heartbeat_kept(live, ESTOPPED), Hostile(live.graph.domain) as hostile:
        out = hostile.publisher(f"{MSGS}/EStopEvent", topics.ESTOP, topics.COMMAND)
        numbers = iter(range(10**9))
        hostile.keep_doing(
            lambda: out.publish(
                msg.EStopEvent(source=f"somebody {next(numbers)}", reason="x" * 1000)
            ),
            2000.0,
            burst=10,
        )
        wait_until(lambda: live.safety.state == ESTOPPED)
        wait_until(lambda: hostile.sent > MESSAGES // 10, 120.0)
        assert live.safety.state == ESTOPPED
    assert used(kernel.pid)[0] - before[0] < GROWTH_MB
    live.arm()
    moves(live)


def test_participants_that_come_and_go_disturb_nobody(live: LiveGraph) -> None:
    live.arm()
    hal, kernel = live.processes[:2]
    before = [used(hal.pid), used(kernel.pid)]
    with heartbeat_kept(live, ARMED):
        command = [sys.executable, "-c", CROWD, str(live.graph.domain), str(PARTICIPANTS)]
        with subprocess.Popen(command, cwd=ROOT) as crowd:
            while crowd.poll() is None:
                moves(live)
            assert crowd.returncode == 0
    assert live.safety.state == ARMED
    for (memory, threads), process in zip(before, (hal, kernel), strict=True):
        later, more = used(process.pid)
        assert later - memory < GROWTH_MB
        assert more == threads
