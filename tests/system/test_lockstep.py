"""Lock-step: the same seed gives the same trace, whatever the machine is doing meanwhile."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import pytest

from openral.deploy.lockstep.run import LockstepGraphRun
from openral.deploy.lockstep.trace_hash import TRACED, trace_hash
from openral.deploy.options import DeployOptions
from openral.deploy.plan import make_plan
from openral.deploy.summary import Summary
from openral.graph import topics
from openral.ros.recording.reader import Recording
from openral.skill.runner.graph import RunnerGraph
from openral.skill.runner.node import SkillRunnerNode
from tests.system.graph import blind_robot


def play(folder: Path, **options: object) -> Summary:
    robot = blind_robot("franka_panda", folder.parent)
    given = {"robot_ref": robot, "scene_ref": "tabletop_push", "record": folder}
    return LockstepGraphRun(make_plan(DeployOptions(lockstep=True, **{**given, **options}))).run()  # type: ignore[arg-type]


def test_one_seed_gives_one_trace(tmp_path: Path) -> None:
    push = {"skill": "scripted-push", "seed": 3}
    first, second = (play(tmp_path / name, **push) for name in ("a", "b"))
    other = play(tmp_path / "c", **{**push, "seed": 4})
    for summary in (first, second, other):
        assert summary.exit_code == 0, summary.exit_reason
        assert summary.skill is not None
        assert summary.skill["episodes"][0]["success"]
        assert summary.verdicts["accepted"] > 5
        assert summary.estops == 0
    assert first.trace == second.trace == trace_hash(tmp_path / "a")
    assert first.duration == second.duration
    assert other.trace != first.trace
    assert all(Recording(tmp_path / "a").topics[topic].count > 5 for topic in TRACED)


def slow_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real time passes for nothing: a little at each step, and longer than anybody's patience."""
    step, propose = SkillRunnerNode.step, RunnerGraph.propose
    steps = itertools.chain([0.0] * 20, [1.2], itertools.repeat(0.01))
    chunks = itertools.chain([0.0, 10.5], itertools.repeat(0.0))

    def slow_step(self: SkillRunnerNode) -> Any:
        if self.run is not None:
            time.sleep(next(steps))
        return step(self)

    def slow_propose(self: RunnerGraph, chunk: Any) -> None:
        time.sleep(next(chunks))
        propose(self, chunk)

    monkeypatch.setattr(SkillRunnerNode, "step", slow_step)
    monkeypatch.setattr(RunnerGraph, "propose", slow_propose)


def test_a_slow_machine_gives_the_same_trace_with_cameras_and_a_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kitchen = {"robot_ref": "panda_mobile", "scene_ref": "kitchen", "duration_s": 1.5}
    kitchen |= {"skill": "random", "skill_parameters": {"amplitude": 0.004}, "seed": 2}
    first = play(tmp_path / "a", **kitchen)
    slow_down(monkeypatch)
    second = play(tmp_path / "b", **kitchen)
    for summary in (first, second):
        assert summary.exit_reason == "1.5 s are over"
        assert summary.verdicts["accepted"] + summary.verdicts["slowed"] >= 3
    assert Recording(tmp_path / "b").topics[topics.VOXELS].count > 5
    assert first.verdicts == second.verdicts
    assert first.trace == second.trace


def test_refusals_are_part_of_the_trace(tmp_path: Path) -> None:
    wild = {"skill": "random", "skill_parameters": {"amplitude": 1.0}, "seed": 1}
    first, second = (play(tmp_path / name, duration_s=5.0, **wild) for name in ("a", "b"))
    assert first.verdicts["rejected"] == 1
    assert first.estops == 1
    assert first.trace == second.trace
    assert first.exit_code == 1
    assert first.exit_reason.startswith("skill 'random' failed: refused")


def test_it_is_faster_than_real_time(tmp_path: Path) -> None:
    """Counted in processor time, so that a busy machine does not matter."""
    began = time.process_time()
    summary = play(tmp_path / "a", record=None, skill="home", duration_s=10.0)
    assert summary.exit_code == 0, summary.exit_reason
    assert time.process_time() - began < summary.duration


@pytest.mark.parametrize("skill", ["", "home"])
def test_a_run_ends_after_its_duration(tmp_path: Path, skill: str) -> None:
    summary = play(tmp_path / "a", record=None, skill=skill, duration_s=0.5)
    assert summary.exit_reason == "0.5 s are over"
    assert summary.duration == pytest.approx(0.5, abs=0.05)
    assert summary.rates["/joint_states"]["measured"] == pytest.approx(50.0, abs=3.0)
