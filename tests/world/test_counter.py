"""The collision that must never happen again: the arm driven into the counter in every mode."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.world.counter_streams import MODES, IntoTheCounter, stream, tucked
from tests.world.kitchen_rig import Kitchen, at_counter

SEEDS = range(int(os.environ.get("OPENRAL_SOAK", "1")))


def run(mode: str, seed: int, gated: bool) -> Kitchen:
    rng = np.random.default_rng(seed)
    start = at_counter(rng)
    way = IntoTheCounter(start, rng)
    kitchen = Kitchen(start, tucked(), gated=gated, seed=seed)
    try:
        if gated:
            kitchen.step(0.6)  # three looks before anything moves
        # Torques follow the way with a lag, and are proven for a short while only.
        every, after = (0.04, 2.0) if mode == "joint_torque" else (0.1, 0.3)
        kitchen.drive(stream(mode, way, kitchen), way.seconds + after, every)
    finally:
        kitchen.close()
    return kitchen


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", MODES)
def test_no_mode_drives_the_arm_into_the_counter(mode: str, seed: int) -> None:
    free = run(mode, seed, gated=False)
    hit = {name for pair in free.contacts for name in pair}
    assert hit & {"counter_north", "counter_north_top"}, "the scenario does not collide"
    kept = run(mode, seed, gated=True)
    assert kept.verdicts[-1].latched, "it was not vetoed"
    assert not kept.contacts
    # Under either clock the verdicts are the same; none that wall time vetoes passes in sim time.
    for verdict, wall in zip(kept.verdicts, kept.wall_vetoes, strict=True):
        assert not wall or not verdict.accepted
    if mode != "joint_torque":  # torque is provable only far from everything
        assert sum(v.accepted for v in kept.verdicts) > 5
