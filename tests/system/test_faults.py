"""Whatever fails while the robot moves: it stands within 150 ms, and the run ends with the reason.

Motion is what the simulator measured, on its own clock. `make soak` repeats every fault 20 times.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from openral.safety import topics
from tests.deploy.small_graph import alive
from tests.ros.conftest import wait_until
from tests.skill import skill_plugins
from tests.system.conftest import Deploy
from tests.system.graph import ARMED, ESTOPPED, REPETITIONS, STILL, Deployment, blind_robot

STAND_S = 0.15
SAMPLE_S = 0.02
"""The state before a fault is up to one period old."""
TRIES = 3
"""A busy machine may miss a heartbeat before anything moves, which is a stop too."""
WAVE = ("--param", "rows=10", "--param", "size=0.15")


@pytest.fixture(params=range(REPETITIONS))
def waving(request: pytest.FixtureRequest, deploy: Deploy, tmp_path: Path) -> Deployment:
    """A Panda that waves until it is told to stop."""
    robot = blind_robot("franka_panda", tmp_path)
    environment = skill_plugins.install(tmp_path)
    for _ in range(TRIES):
        graph = deploy(
            *("--config", "tabletop_push", "--robot", robot, "--skill", "wave", *WAVE),
            environment=environment,
        )
        graph.wait_armed()
        if graph.wait_moving():
            return graph
        graph.interrupt()
    raise AssertionError(graph.lines)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=lambda n: n.name)
@pytest.mark.parametrize("node", ["safety_kernel", "skill_runner", "hal"])
def test_a_node_that_dies_or_freezes(waving: Deployment, node: str, number: signal.Signals) -> None:
    members = waving.members
    fault = waving.signal(node, number)
    summary = waving.end()
    assert waving.observer.motion_after(fault) <= STAND_S + SAMPLE_S
    assert summary["returncode"] == 1
    assert summary["exit_reason"].startswith(f"{node} was ")
    assert not [pid for pid in members if alive(pid)]


def test_an_estop_under_a_motion_holds_until_a_reset(waving: Deployment) -> None:
    observer = waving.observer
    now = time.monotonic()
    answer = observer.call("openral_msgs/srv/EStop", topics.ESTOP, source="operator", reason="test")
    assert answer.success
    assert answer.applied
    wait_until(lambda: observer.safety.state == ESTOPPED)
    time.sleep(0.5)
    assert observer.motion_after(now) <= STAND_S + SAMPLE_S
    stood = observer.poses[-1].q
    assert observer.drift_since(0.2) < 0.001
    summary = waving.end()  # the skill has failed, so the run is over
    assert summary["exit_reason"].startswith("skill 'wave' failed: estopped")
    assert abs(observer.poses[-1].q - stood).max() < 0.001


def test_a_reset_moves_nothing_by_itself(deploy: Deploy, tmp_path: Path) -> None:
    robot = blind_robot("franka_panda", tmp_path)
    graph = deploy("--config", "tabletop_push", "--robot", robot)
    graph.wait_armed()
    observer = graph.observer
    observer.call("openral_msgs/srv/EStop", topics.ESTOP, source="operator", reason="test")
    wait_until(lambda: observer.safety.state == ESTOPPED)
    before = observer.poses[-1].q
    wait_until(lambda: observer.trigger(topics.RESET).success)
    wait_until(lambda: observer.safety.state == ARMED)
    time.sleep(0.5)
    assert abs(observer.poses[-1].q - before).max() <= 0.01
    assert observer.poses[-1].speed < STILL
    assert graph.interrupt()["returncode"] == 0
