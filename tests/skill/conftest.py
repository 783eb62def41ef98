"""Graphs with a runner in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ros.conftest import Graph, domain, graph  # noqa: F401 - fixtures
from tests.skill.live_rig import RunnerGraphRig


@pytest.fixture
def rig(
    graph: Graph,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., RunnerGraphRig]]:
    """Makes the graph of one robot, with the skills of tests installed."""
    monkeypatch.setenv("PYTHONPATH", "")
    made: list[RunnerGraphRig] = []

    def make(robot: str) -> RunnerGraphRig:
        made.append(RunnerGraphRig(graph, robot, tmp_path))
        return made[-1]

    yield make
    for one in made:
        one.close()
