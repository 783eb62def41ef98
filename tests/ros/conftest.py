from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def services() -> Any:
    return json.loads((GOLDEN / "services_jazzy.json").read_text())
