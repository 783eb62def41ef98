from __future__ import annotations

from tests.ros.conftest import domain, graph  # noqa: F401 - fixtures
from tests.safety.conftest import rig  # noqa: F401 - a fixture
