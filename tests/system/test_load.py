"""Whole graphs beside more work than the machine can do: they run slower, and end in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openral.graph import topics
from openral.ros.clock import NS
from openral.ros.recording.reader import Recording
from openral.ros.stamps import stamp_ns
from tests.system.conftest import Deploy
from tests.system.graph import Deployment
from tests.system.load import busy_machine, without_priority


@pytest.fixture
def load() -> Iterator[None]:
    with busy_machine():
        yield


def ends_in_order(graph: Deployment, folder: Path) -> dict[str, Any]:
    """Checks the end of a run: no fault, no stop, and a recording of all of it."""
    summary = graph.end(500.0)
    said = "\n".join(graph.lines)
    assert summary["returncode"] == 0, said
    assert summary["estops"] == 0, said
    assert "no real-time priority" in said, "it was granted: nothing was tried"
    assert 0.0 < summary["real_time_factor"] < 1.1
    print(f"{summary['real_time_factor']:.3f}x real time")
    recording = Recording(folder)
    assert summary["recording"]["messages"] == sum(t.count for t in recording.topics.values())
    assert recording.topics[topics.VERDICT].count >= summary["verdicts"]["accepted"] > 0
    stamps = [stamp_ns(record.message) for record in recording.messages([topics.JOINT_STATES])]
    gaps = [later - earlier for earlier, later in itertools.pairwise(stamps)]
    assert max(gaps) < NS // 2, "there is a hole in the recording"
    assert (stamps[-1] - stamps[0]) / NS > 0.9 * summary["duration"]
    return summary


def test_a_push_beside_three_loops_a_core(deploy: Deploy, load: None, tmp_path: Path) -> None:
    graph = deploy(
        *("--config", "tabletop_push", "--robot", "franka_panda", "--skill", "scripted-push"),
        *("--record", str(tmp_path / "run")),
        through=without_priority(),
    )
    summary = ends_in_order(graph, tmp_path / "run")
    assert summary["exit_reason"] == "skill 'scripted-push' is done"
    assert summary["skill"]["episodes"][0]["success"]
    assert summary["verdicts"]["rejected"] == 0


def test_the_kitchen_beside_three_loops_a_core(deploy: Deploy, load: None, tmp_path: Path) -> None:
    graph = deploy(
        *("--config", "kitchen", "--robot", "panda_mobile", "--skill", "hold", "--duration", "15"),
        *("--record", str(tmp_path / "run")),
        through=without_priority(),
    )
    summary = ends_in_order(graph, tmp_path / "run")
    assert summary["exit_reason"] == "15 s are over"
    assert Recording(tmp_path / "run").topics[topics.VOXELS].count > 5
