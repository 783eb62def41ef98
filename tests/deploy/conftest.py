from __future__ import annotations

from tests.ros.conftest import domain, other_domain  # noqa: F401 - fixtures
