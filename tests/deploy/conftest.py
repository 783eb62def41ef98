from __future__ import annotations

from tests.ros.conftest import domain, graph, other_domain  # noqa: F401 - fixtures
