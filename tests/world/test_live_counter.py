"""The counter regression in the live graph: every mode, from depth pixels to a veto."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.ros.conftest import Graph
from tests.world.counter_streams import MODES, Way
from tests.world.live_counter import LiveCounter

SOAK = os.environ.get("OPENRAL_SOAK")
SEEDS = range(int(SOAK or 1))
CLOCKS = {"wall clock": False, "sim clock": True} if SOAK else {"sim clock": True}
"""On wall time nobody waits: a machine with other work to do is too slow for some of the ways."""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sim_time", CLOCKS.values(), ids=CLOCKS)
def test_every_mode_is_vetoed_at_the_counter(
    graph: Graph, tmp_path: Path, seed: int, sim_time: bool
) -> None:
    counter = LiveCounter(graph, tmp_path, seed, sim_time)
    try:
        above, inside = counter.way.poses[1:]
        counter.go(above)
        for mode in MODES:
            stop = counter.drive_until_vetoed(mode, Way([above, inside], [0.4]))
            assert stop.reason in {"voxel_collision", "budget_exceeded"}, stop.detail
            assert mode in stop.detail
        assert counter.least_gap() > counter.live.robot.safety.margin_m
        assert not counter.contacts()
    finally:
        counter.close()
