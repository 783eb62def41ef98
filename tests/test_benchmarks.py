"""A benchmark that misses a target says so by its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


def end(within: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    program = f"from shared.targets import finish; finish({{'ms': 3}}, {within!r})"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize(
    ("within", "code"),
    [
        ({}, 0),
        ({"a": True, "b": {"c": True}}, 0),
        ({"a": True, "b": False}, 1),
        ({"a": True, "b": {"c": True, "d": False}}, 1),
    ],
)
def test_a_missed_target_is_exit_code_1(within: dict[str, Any], code: int) -> None:
    found, told = end(within)
    assert found == code
    assert told == {"ms": 3, "within": within, "all_within": code == 0}


@pytest.mark.parametrize("name", ["deploy", "hal_node", "kernel_node", "world", "world_rates"])
def test_programs_with_targets_end_by_them(name: str) -> None:
    assert "    finish(" in (FOLDER / f"{name}.py").read_text()
