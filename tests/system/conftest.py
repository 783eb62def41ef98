from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.ros.conftest import domain, other_domain  # noqa: F401 - fixtures
from tests.system.graph import Deployment

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
