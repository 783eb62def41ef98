"""A kernel node in a process of its own, and a robot and proposers to go with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ros.conftest import Graph, domain, graph, until, wait_until  # noqa: F401 - fixtures
from tests.safety.kernel_rig import Rig


@pytest.fixture
def rig(graph: Graph) -> Iterator[Rig]:  # noqa: F811
    made = Rig(graph)
    yield made
    made.close()
