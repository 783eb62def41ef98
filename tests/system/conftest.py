from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.ros.conftest import (
    Graph,
    _lend_domain,
    domain,  # noqa: F401 - a fixture
    other_domain,  # noqa: F401 - a fixture
)
from tests.skill import skill_plugins
from tests.system.graph import Deployment
from tests.system.standing import Standing

Deploy = Callable[..., Deployment]


@pytest.fixture
def deploy(domain: int) -> Iterator[Deploy]:  # noqa: F811
    """Starts whole graphs; whatever happens, nothing of them is left."""
    made: list[Deployment] = []

    def start(*arguments: str, **options: object) -> Deployment:
        made.append(Deployment(domain, *arguments, **options))  # type: ignore[arg-type]
        return made[-1]

    yield start
    for deployment in made:
        deployment.close()


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which the tests' own skills are found."""
    return skill_plugins.install(tmp_path_factory.mktemp("plugins"))


def _standing(**options: Any) -> Iterator[Standing]:
    for number in _lend_domain():
        graph = Graph(number)
        made = Standing(graph, **options)
        yield made
        made.close()
        graph.close()


@pytest.fixture(scope="module")
def standing() -> Iterator[Standing]:
    """A robot under its kernel; tests leave it able to be armed again."""
    yield from _standing()


@pytest.fixture(scope="module")
def waiting() -> Iterator[Standing]:
    """The same where simulated time waits: nothing stops it but what the test does."""
    yield from _standing(real_time=False)
