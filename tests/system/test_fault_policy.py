"""A policy fails under a motion: the robot stands soon, and the next goal is taken."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openral.graph import topics
from openral.graph.seal import Seal
from openral.ros.actions.goal import GoalStatus
from openral.ros.clock import NS
from openral.skill.topics import APPLIED
from tests.deploy.small_graph import family
from tests.hal.node_rig import ARMED, STRICT
from tests.ros.conftest import Graph, _lend_domain, wait_until
from tests.skill import skill_plugins
from tests.skill.live_rig import RunnerGraphRig
from tests.system.graph import STILL, Observer, repeated
from tests.system.standing import LOST_S, NO_JUMP, check_rest

FAILING = ("raises", "hangs", "nan", "wide", "dies")
HOSTILE = ("forks", "hogs", "closes", "deaf", "huge", "huge_bytes", "drips", "leaves_children")
_SIZE = 0.06


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunnerGraphRig]:
    with pytest.MonkeyPatch.context() as patch:
        found = skill_plugins.install(tmp_path_factory.mktemp("plugins"))
        patch.setenv("PYTHONPATH", found["PYTHONPATH"])
        for number in _lend_domain():
            graph = Graph(number)
            made = RunnerGraphRig(graph, "ur5e", real_time=STRICT)
            try:
                folders = f"policy_folders=[{tmp_path_factory.getbasetemp()}]"
                limits = ("policy_memory_gb=2.0", "policy_tasks=32", folders)
                made.start_all("bare", "answer_timeout_s=1.0", *limits)
                yield made
            finally:
                made.close()
                graph.close()


@pytest.fixture(scope="module")
def observer(rig: RunnerGraphRig) -> Iterator[Observer]:
    made = Observer(rig.graph.domain)
    yield made
    made.close()


@repeated
@pytest.mark.parametrize("policy", [*FAILING, *HOSTILE])
def test_a_failing_policy_ends_the_motion(
    rig: RunnerGraphRig, observer: Observer, tmp_path: Path, policy: str, repetition: int
) -> None:
    moment = tmp_path / "moment"
    rig.still()
    begun = time.monotonic()
    status, result = rig.run(policy, rows=10, size=_SIZE, after=2, moment=str(moment))
    assert (status, result.reason) == (GoalStatus.ABORTED, "policy_failed"), result
    at = float(moment.read_text())
    assert max(p.speed for p in list(observer.poses) if begun < p.heard_s) > 0.1
    rig.still()
    time.sleep(0.3)
    check_rest(observer, at)
    assert observer.poses[-1].speed < STILL


@repeated
def test_a_policy_that_attacks_the_graph_reaches_nobody(
    rig: RunnerGraphRig, observer: Observer, tmp_path: Path, repetition: int
) -> None:
    told, began = tmp_path / "told", time.monotonic()
    members = set().union(*(family(process.pid) for process in rig.processes))
    status, result = rig.run(
        "breaks_out",
        rows=10,
        size=_SIZE,
        after=2,
        told=str(told),
        victims=[process.pid for process in rig.processes],
        elsewhere="/openral-was-here",
    )
    assert (status, result.reason) == (GoalStatus.ABORTED, "policy_failed"), result
    assert "tried everything" in result.message
    outcomes = json.loads(told.read_text())
    for name in ("mem", "ptrace", "environ", "pidfd_getfd", "kill", "pidfd kill", "stop"):
        assert all(text.startswith("refused") for text in outcomes[name]), outcomes
    assert outcomes["environment"] == []
    assert all(process.poll() is None for process in rig.processes)
    rig.still()
    assert observer.drift_since(time.monotonic() - began) < 2 * _SIZE + 0.1
    wait_until(lambda: not set().union(*(family(p.pid) for p in rig.processes)) - members)


@repeated
def test_a_motion_that_the_kernel_has_ended_is_taken_up_again(
    rig: RunnerGraphRig, observer: Observer, repetition: int
) -> None:
    goal, _ = rig.under_way("wave", 2, rows=10, size=0.0, after=999)
    ended = goal.get_result_async()
    seal = Seal(rig.key, rig.safety.epoch)
    kind = "openral_msgs/msg/SafeAction"
    out = rig.node.create_publisher(kind, topics.SAFE_ACTION, topics.COMMAND)
    wait_until(lambda: out.has_subscribers)
    states, applied = rig.heard[topics.HAL_STATE], rig.heard[APPLIED]
    before = len(states)

    def held() -> bool:
        """The kernel may take the same number for another action meanwhile: then again."""
        seal.sequence, now = rig.safety.sequence, rig.node.now()
        out.publish_bytes(seal.seal_hold(now, now + NS // 5, bytes(16)))
        time.sleep(0.1)
        return any(state.reason == "kernel" for state in states[before:])

    try:
        wait_until(held)
        rows = len(applied)
        wait_until(lambda: ended.done() or len(applied) > rows + 30)
        assert not ended.done(), ended.result()
    finally:
        goal.cancel(10.0)
        goal.get_result(30.0)
        rig.node.destroy_publisher(out)


@repeated
def test_a_frozen_runner_leaves_a_hold_and_gives_its_goal_up_when_it_wakes(
    rig: RunnerGraphRig, observer: Observer, repetition: int
) -> None:
    goal, _ = rig.under_way("wave", 2, rows=10, size=_SIZE, after=999)
    ended = goal.get_result_async()
    runner = rig.processes[-1]
    try:
        runner.send_signal(signal.SIGSTOP)
        time.sleep(LOST_S + 0.8)  # the last chunk takes 0.5 s
        resting = time.monotonic()
        time.sleep(1.2)
    finally:
        runner.send_signal(signal.SIGCONT)
    assert ended.result(30.0)[1].reason == "interrupted"
    time.sleep(0.3)
    assert observer.drift_since(time.monotonic() - resting) <= NO_JUMP
    assert rig.safety.state == ARMED, rig.safety.detail
    goal, _ = rig.under_way("wave", 2, rows=10, size=_SIZE, after=999)
    assert goal.cancel(10.0)
    goal.get_result(30.0)
