"""`make soak`, for a moment: it samples every process of a graph, and finds what grows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
NODES = {"supervisor", "openral.hal", "openral.safety", "openral.world", "openral.skill"}
STEADY = ("threads", "descriptors", "shared_mb")
"""What may not grow within seconds either; memory settles later."""


def test_a_short_soak_finds_no_growth(domain: int) -> None:
    done = subprocess.run(
        [sys.executable, "soak.py", "0.3", "--factor", "0.05", "--domain", str(domain)],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    found = json.loads(done.stdout)
    within = found["within"]
    growth = within.pop("no_growth")
    assert all(within.values()), found
    assert {*NODES, "policy", "policy_warden"} == set(found["processes"])
    grown = [what for what, good in growth.items() if not good and what.split()[1] in STEADY]
    assert not grown, found["processes"]
    assert all(entry["descriptors"]["last"] > 0 for entry in found["processes"].values())


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([10.0] * 100, 0.0, 0.0),
        ([10.0 + 0.1 * i for i in range(100)], 9.8, 10.0),
        ([10.0 + (50.0 if i % 10 == 0 else 0.0) for i in range(100)], -0.1, 0.1),
    ],
)
def test_a_rise_is_a_slope_not_an_outlier(values: list[float], low: float, high: float) -> None:
    program = f"import soak; print(soak.rise(list(range(100)), {values!r}))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=FOLDER, capture_output=True, text=True, check=True
    )
    assert low <= float(done.stdout) <= high
