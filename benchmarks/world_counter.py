"""The arm driven at the kitchen counter in eight modes, with the kernel and without.

Prints one JSON object: for each mode what the last veto said, how far from the kitchen the arm
stood then (checked links; fingers by themselves), and whether anything touched. With the kernel
nothing may touch and every drive must be vetoed; without it every drive must hit the counter.

`python benchmarks/world_counter.py 20` drives from 20 places (the default), on all cores: some
four minutes on two.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import openral  # noqa: F401 - before MuJoCo: chooses the renderer

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.world.counter_runs import CounterDrives, Run
from tests.world.counter_streams import MODES


def drive(seed: int) -> list[Run]:
    """All drives from one place."""
    with CounterDrives(seed) as drives:
        return [drives.run(mode, gated) for mode in MODES for gated in (False, True)]


def summary(runs: list[Run]) -> dict[str, Any]:
    free, kept = ([run for run in runs if run.gated == gated] for gated in (False, True))
    vetoes = [run.last for run in kept if run.last is not None and run.last.latched]
    gaps = np.array([run.gap_m for run in kept]) * 1e3
    return {
        "drives": len(kept),
        "hit_without_the_kernel": sum(run.hit_the_counter for run in free),
        "vetoed": len(vetoes),
        "contacts": sum(bool(run.contacts) for run in kept),
        "reasons": dict(Counter(veto.status for veto in vetoes)),
        "mode_of_the_veto": dict(Counter(veto.mode for veto in vetoes)),
        "gap_mm": {
            "least": round(float(gaps.min()), 1),
            "median": round(float(np.median(gaps)), 1),
            "most": round(float(gaps.max()), 1),
        },
        "finger_gap_least_mm": round(min(run.finger_gap_m for run in kept) * 1e3, 1),
        "accepted_before_least": min(run.accepted for run in kept),
        "slowest": min(run.slowest for run in kept),
        "same_on_wall_clock": sum(run.same_on_wall_clock for run in kept),
    }


def main() -> None:
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    begin = time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        runs = [run for found in pool.map(drive, seeds) for run in found]
    modes = {mode: summary([run for run in runs if run.mode == mode]) for mode in MODES}
    wanted = len(seeds)
    ok = all(
        m["hit_without_the_kernel"] == m["vetoed"] == m["same_on_wall_clock"] == wanted
        and m["contacts"] == 0
        for m in modes.values()
    )
    seconds = round(time.perf_counter() - begin, 1)
    print(json.dumps({"benchmark": "world_counter", "seconds": seconds, "ok": ok, "modes": modes}))
    raise SystemExit(0 if ok else 1)


if __name__ == "__main__":
    main()
