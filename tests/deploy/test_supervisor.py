"""One run from start to end, with real processes that behave and misbehave."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openral.graph import topics
from tests.deploy.small_graph import SmallGraph, alive, family, start_supervisor
from tests.ros.conftest import Graph, wait_until

Start = Callable[..., SmallGraph]


@pytest.fixture
def start(domain: int) -> Iterator[Start]:
    made: list[SmallGraph] = []

    def go(*nodes: tuple[str, str], seconds: float = 0.0) -> SmallGraph:
        made.append(SmallGraph(domain, list(nodes), seconds))
        return made[-1]

    yield go
    for graph in made:
        graph.close()


def test_nodes_come_up_in_order_and_end_in_order(start: Start) -> None:
    graph = start(("first", ""), ("second", ""), seconds=0.3)
    summary = graph.end()
    assert summary["returncode"] == 0
    assert summary["exit_reason"] == "0.3 s are over"
    active = [line.split("│")[0].strip() for line in graph.lines if "active as" in line]
    assert active == ["first", "second"]
    ended = [line.split("│")[0].strip() for line in graph.lines if "ended in order" in line]
    assert sorted(ended) == ["first", "second"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_in_order_and_leaves_nothing(start: Start, number: signal.Signals) -> None:
    before = set(Path("/dev/shm").iterdir())
    graph = start(("first", ""), ("second", "family"))
    graph.wait_active(2)
    members = family(graph.process.pid)
    assert len(members) == 4
    began = time.monotonic()
    graph.process.send_signal(number)
    summary = graph.end()
    assert time.monotonic() - began < 2.0
    assert summary["returncode"] == 0
    assert summary["exit_reason"] == f"interrupted ({number.name})"
    assert not [pid for pid in members if alive(pid)]
    assert set(Path("/dev/shm").iterdir()) <= before


@pytest.mark.parametrize("fault", ["refuse?", "die_early?"])
def test_a_node_that_may_fail_may_fail_to_come_up(start: Start, fault: str) -> None:
    graph = start(("first", ""), ("extra", fault), ("last", ""), seconds=0.3)
    summary = graph.end()
    assert summary["returncode"] == 0, graph.lines
    assert summary["exit_reason"] == "0.3 s are over"
    (failure,) = summary["failures"]
    assert failure.startswith("extra ")
    assert "the graph goes on without it" in failure
    active = [line.split("│")[0].strip() for line in graph.lines if "active as" in line]
    assert active == ["first", "last"]


def test_the_second_signal_kills_at_once(start: Start) -> None:
    graph = start(("first", "cling"))
    graph.wait_active(1)
    members = family(graph.process.pid)
    graph.process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    graph.process.send_signal(signal.SIGINT)
    graph.end()
    assert graph.process.returncode == 128 + signal.SIGINT
    wait_until(lambda: not [pid for pid in members if alive(pid)])


def test_a_node_that_does_not_end_is_killed(start: Start) -> None:
    graph = start(("first", "cling"), seconds=0.1)
    members = family(graph.process.pid)
    assert graph.end()["returncode"] == 0
    assert any("killed, because they did not end: first" in line for line in graph.lines)
    assert not [pid for pid in members if alive(pid)]


def test_a_killed_supervisor_leaves_nothing(start: Start) -> None:
    graph = start(("first", ""), ("second", ""))
    pids = graph.wait_active(2)
    os.kill(pids[0], signal.SIGSTOP)  # not even one that could not hear a signal
    graph.process.kill()
    graph.process.wait()
    wait_until(lambda: not [pid for pid in pids if alive(pid)])


def test_a_signal_while_coming_up_leaves_nothing(start: Start) -> None:
    graph = start(("first", ""), ("second", ""))
    wait_until(lambda: len(family(graph.process.pid)) == 3)
    members = family(graph.process.pid)
    graph.process.send_signal(signal.SIGINT)
    assert graph.end()["exit_reason"] == "interrupted (SIGINT)"
    assert not [pid for pid in members if alive(pid)]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("refuse", "second cannot configure: there is no robot here"),
        ("die_early", "second ended with exit code 3"),
        ("die", "second was killed by SIGKILL"),
        ("stop", "second was stopped by a signal and does not go on"),
        ("hang", "second hangs: nothing was heard from it for "),
        ("hang!", "second hangs: nothing was heard from it for "),
    ],
)
def test_a_fault_ends_the_run_with_its_reason(
    start: Start, graph: Graph, fault: str, reason: str
) -> None:
    heard: list[Any] = []
    ear = graph.node("ear", apart=True)
    ear.create_subscription(
        "openral_msgs/msg/EStopEvent", topics.ESTOP, heard.append, topics.COMMAND
    )
    small = start(("first", ""), ("second", fault), seconds=60.0)
    summary = small.end()
    assert summary["returncode"] == 1
    assert summary["exit_reason"].startswith(reason)
    assert any("was told to stop" in line for line in small.lines)
    told = [event.reason for event in heard]
    assert len(told) > 5, "nobody confirmed it, and it was not told again"
    if fault in ("die", "stop"):  # told by the thread that hears of it, before the loop looks
        assert told[0] == {"die": "second has ended", "stop": "second was stopped"}[fault]
    assert told[-1] == summary["exit_reason"]


@pytest.mark.parametrize("fault", ["die?", "hang?"])
def test_a_node_that_may_fail_does_not_end_the_run(start: Start, fault: str) -> None:
    summary = start(("first", ""), ("second", fault), seconds=3.0).end()
    assert summary["returncode"] == 0
    assert any(text.startswith("second ") for text in summary["failures"])


def test_a_terminal_that_stands_still_stalls_no_node(domain: int) -> None:
    """Nobody reads the supervisor's output, and a node talks a lot: it must not wait for that."""
    read_end, write_end = os.pipe()
    process = start_supervisor(domain, [("first", "chatter")], 3.0, write_end)
    os.close(write_end)
    try:
        assert process.wait(60.0) == 0
    finally:
        process.kill()
        os.close(read_end)
