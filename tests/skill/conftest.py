"""Graphs with a runner in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.ros.conftest import Graph, domain, graph  # noqa: F401 - fixtures
from tests.skill import skill_plugins
from tests.skill.live_rig import RunnerGraphRig


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The skills of tests are installed, for this process and those that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        found = skill_plugins.install(tmp_path_factory.mktemp("plugins"))
        patch.setenv("PYTHONPATH", found["PYTHONPATH"])
        patch.syspath_prepend(found["PYTHONPATH"].split(":")[0])
        yield


@pytest.fixture
def rig(
    graph: Graph,  # noqa: F811
    plugins: None,
) -> Iterator[Callable[..., RunnerGraphRig]]:
    """Makes the graph of one robot."""
    made: list[RunnerGraphRig] = []

    def make(robot: str) -> RunnerGraphRig:
        made.append(RunnerGraphRig(graph, robot))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def ready(domain: int, plugins: None) -> Iterator[RunnerGraphRig]:  # noqa: F811
    """One armed robot for all tests of a module."""
    shared = Graph(domain)
    made = RunnerGraphRig(shared, "so101_follower")
    try:
        made.start_all("bare")
        yield made
    finally:
        made.close()
        shared.close()
