"""The stubs that type checkers read say what the classes hold at run time."""

from __future__ import annotations

import runpy
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools/message_stubs.py"


def test_the_stubs_are_up_to_date() -> None:
    for path, text in runpy.run_path(str(TOOL))["stubs"]().items():
        assert path.read_text() == text, f"{path} is out of date: run python {TOOL}"
