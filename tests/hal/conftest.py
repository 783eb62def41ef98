from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ros.conftest import _lend_domain


@pytest.fixture(scope="session")
def domain() -> Iterator[int]:
    """A DDS domain that no other test process on this machine uses."""
    yield from _lend_domain()
