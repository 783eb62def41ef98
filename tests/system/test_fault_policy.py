"""A policy fails under a motion: the robot stands soon, and the next goal is taken."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openral.ros.goal import GoalStatus
from tests.ros.conftest import Graph, _lend_domain
from tests.skill import skill_plugins
from tests.skill.live_rig import RunnerGraphRig
from tests.system.graph import REPETITIONS, STILL, Observer
from tests.system.standing import check_rest


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunnerGraphRig]:
    with pytest.MonkeyPatch.context() as patch:
        found = skill_plugins.install(tmp_path_factory.mktemp("plugins"))
        patch.setenv("PYTHONPATH", found["PYTHONPATH"])
        for number in _lend_domain():
            graph = Graph(number)
            made = RunnerGraphRig(graph, "ur5e")
            try:
                made.start_all("bare", "answer_timeout_s=1.0")
                yield made
            finally:
                made.close()
                graph.close()


@pytest.fixture(scope="module")
def observer(rig: RunnerGraphRig) -> Iterator[Observer]:
    made = Observer(rig.graph.domain)
    yield made
    made.close()


@pytest.mark.parametrize("repetition", range(REPETITIONS))
@pytest.mark.parametrize("policy", ["raises", "hangs", "nan", "wide", "dies"])
def test_a_failing_policy_ends_the_motion(
    rig: RunnerGraphRig, observer: Observer, tmp_path: Path, policy: str, repetition: int
) -> None:
    rig.still()
    moment = tmp_path / "moment"
    begun = time.monotonic()
    status, result = rig.run(policy, rows=10, size=0.06, after=2, moment=str(moment))
    assert (status, result.reason) == (GoalStatus.ABORTED, "policy_failed"), result
    at = float(moment.read_text())
    assert max(p.speed for p in list(observer.poses) if begun < p.heard_s < at) > 0.1
    rig.still()
    time.sleep(0.3)
    check_rest(observer, at)
    assert observer.poses[-1].speed < STILL
