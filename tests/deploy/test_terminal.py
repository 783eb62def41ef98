"""What a terminal does, or does not do, holds up no run."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from openral.deploy.process.log_stream import LogStream
from tests.deploy.small_graph import alive, family, start_supervisor
from tests.deploy.terminal import Terminal
from tests.ros.conftest import wait_until


@pytest.fixture(autouse=True)
def _capable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")


def test_a_terminal_that_nobody_reads_does_not_keep_a_fault_from_being_seen(domain: int) -> None:
    """A table and a lot of lines go to it; it takes none of them after the first few."""
    with Terminal(read=False) as terminal:
        nodes = [("first", "chatter"), ("second", "")]
        process = start_supervisor(domain, nodes, 0.0, terminal.end)
        try:
            wait_until(lambda: len(family(process.pid)) == 3, 60.0)
            time.sleep(5.0)  # up, and the terminal is full
            members = family(process.pid)
            os.kill(max(members), signal.SIGKILL)
            assert process.wait(30.0) == 1
            assert process.stdout is not None
            assert "was killed by SIGKILL" in json.loads(process.stdout.read())["exit_reason"]
            wait_until(lambda: not [pid for pid in members if alive(pid)])
        finally:
            process.kill()


def test_a_fault_of_what_is_drawn_stops_neither_lines_nor_pictures() -> None:
    shown: list[str] = []
    stream = LogStream(lambda name, line: shown.append(line))

    def broken() -> None:
        raise ValueError("no such colour")

    stream.draw(broken)
    wait_until(lambda: stream.fault)
    stream.add("node", "a line")
    stream.draw(lambda: shown.append("a picture"))
    stream.close(5.0)
    told = "something cannot be shown: ValueError('no such colour')"
    assert shown == [told, "a line", "a picture"]


def test_only_the_last_of_the_pictures_that_wait_is_drawn() -> None:
    shown: list[int] = []
    stream = LogStream(lambda name, line: time.sleep(0.3))
    stream.add("node", "a terminal that is slow for a while")
    for number in range(100):
        stream.draw(lambda number=number: shown.append(number))  # type: ignore[misc]
    stream.close(5.0)
    assert shown == [99]
