"""The table of standard types is what rosbags says today."""

from __future__ import annotations

import importlib.util
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "standard_types.py"


def test_the_table_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("standard_types", TOOL)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    written = tool.TARGET.read_text(encoding="utf-8")
    assert written == tool.render(), "run: python tools/standard_types.py"
