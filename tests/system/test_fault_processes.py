"""A node of the whole graph is killed or frozen under a motion: the robot is held, the run ends."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.deploy.small_graph import alive
from tests.system.conftest import Deploy
from tests.system.graph import DEADLINES, Deployment, repeated, shared_memory
from tests.system.load import slowdown
from tests.system.standing import FAST, REST_WITHIN_S, check_rest

# One answer of this policy moves the robot for three seconds: nothing ends soon by itself.
LONG_WAY = ("--skill", "wave", "--param", "rows=60", "--param", "size=0.6", "--param", "after=99")


def in_full_swing(deploy: Deploy, plugins: dict[str, str]) -> Deployment:
    """A graph whose robot moves."""
    graph = deploy("--robot", "ur5e", *DEADLINES, *LONG_WAY, environment=plugins)
    graph.until(lambda: graph.observer.poses and graph.observer.poses[-1].speed > FAST, 120.0)
    return graph


@repeated
@pytest.mark.parametrize("node", ["safety_kernel", "skill_runner", "hal"])
@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_a_lost_node_ends_the_motion_and_the_run(
    deploy: Deploy, plugins: dict[str, str], node: str, fault: signal.Signals, repetition: int
) -> None:
    graph = in_full_swing(deploy, plugins)
    members = graph.members
    files = shared_memory(members)
    at = graph.signal(node, fault)
    summary = graph.end()
    assert summary["returncode"] == 1
    assert summary["exit_reason"].startswith(node), summary
    assert ("SIGKILL" if fault is signal.SIGKILL else "stopped") in summary["exit_reason"]
    check_rest(graph.observer, at)
    if (node, fault) == ("hal", signal.SIGKILL):  # the robot is gone with its simulation
        assert graph.observer.poses[-1].heard_s - at < REST_WITHIN_S + 0.5
    assert not [pid for pid in members if alive(pid)]
    assert not [name for name in files if Path(name).exists()]
    assert time.monotonic() - at < 10.0 * slowdown()
