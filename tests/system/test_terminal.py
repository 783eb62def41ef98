"""The live table of a whole graph, as somebody at a terminal sees it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.deploy.terminal import Terminal
from tests.system.conftest import Deploy
from tests.system.graph import ESTOPPED, OPENRAL, Deployment, blind_robot

HOSTILE = "[/x] [bold \x1b[2J gone"
"""No markup, no colour and no clearing of the screen may come of it."""


def test_the_table_shows_how_it_goes_and_survives_any_text(deploy: Deploy, tmp_path: Path) -> None:
    robot = blind_robot("ur5e", tmp_path)
    with Terminal() as terminal:
        graph = deploy(
            *("--config", "tabletop_push", "--robot", robot),
            *("--skill", "hold", "--duration", "600"),
            environment={**os.environ, "TERM": "xterm-256color"},
            stderr=terminal.end,
        )
        _look_at(graph, terminal)
        summary = graph.interrupt()
    assert summary["exit_reason"] == "interrupted (SIGINT)"
    assert summary["returncode"] == 0
    assert "\x1b[2J" not in terminal.raw


def _look_at(graph: Deployment, terminal: Terminal) -> None:
    graph.wait_armed()
    for pattern in (
        r"verdicts +[1-9]\d* accepted; e-stops 0",
        r"skill +hold: running.*, [1-9]\d* chunks",
        r"/joint_states +[45]\d\.\d of 50 Hz",
        r"time +\d+\.\d s, [01]\.\d\dx real time",
        r"kernel +ARMED",
    ):
        graph.until(lambda pattern=pattern: re.search(pattern, terminal.text))
    stop = [str(OPENRAL), "estop", "--reason", HOSTILE, "--domain", str(graph.domain)]
    assert subprocess.run(stop, check=False, timeout=60).returncode == 0
    graph.until(lambda: graph.observer.safety.state == ESTOPPED)
    graph.until(lambda: re.search(r"kernel +ESTOPPED: \[/x\] \[bold  \[2J gone", terminal.text))
    graph.until(lambda: re.search(r"verdicts .*; e-stops 1", terminal.text))
    assert graph.process.poll() is None
