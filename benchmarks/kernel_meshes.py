"""What the kernel accepts, judged by MuJoCo on the meshes of the robots' links.

    python benchmarks/kernel_meshes.py [SEGMENTS] [--seed N] [--jobs J] [--robots ur5e,g1]
        [--menagerie FOLDER] [--hulls FOLDER]

Meshes are those of a MuJoCo Menagerie (MENAGERIE_ROOT), else hulls from a folder of
ROBOT_hulls.npz, else those in the manifests. Nothing is shared with the kernel but the manifest.
Exit code 1 if an accepted chunk brings two meshes closer than their margin.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from openral.manifest.library import shipped_robots
from tests.safety.fuzzing import fresh_seed
from tests.safety.mesh_trials import MeshTrials

SHOTS = 40  # chunks at a time


def _work(task: tuple[str, int, int, Path | None, Path | None]) -> dict[str, Any]:
    """A batch of one robot's chunks."""
    name, seed, first, menagerie, hulls = task
    key = (name, seed)
    if key not in _TRIALS:
        _TRIALS[key] = MeshTrials(name, seed, menagerie, hulls)
    trials = _TRIALS[key]
    trials.tally = type(trials.tally)()
    return {"robot": name, "source": trials.world.source} | vars(trials.run(SHOTS, first))


_TRIALS: dict[tuple[str, int], MeshTrials] = {}


def meshes_benchmark(
    segments: int,
    seed: int,
    jobs: int,
    robots: list[str],
    menagerie: Path | None = None,
    hulls: Path | None = None,
) -> dict[str, Any]:
    """Runs until so many segments were put to the kernel."""
    begin = time.perf_counter()
    totals = {"chunks": 0, "segments": 0, "accepted": 0, "accepted_segments": 0, "samples": 0}
    modes: dict[str, int] = {}
    sources: dict[str, str] = {}
    by_robot: dict[str, int] = dict.fromkeys(robots, 0)
    findings: list[str] = []
    wrong = 0

    def tasks() -> Any:
        first = 0
        while totals["segments"] < segments:
            for name in robots:
                yield name, seed, first, menagerie, hulls
            first += SHOTS

    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        # Batches in flight are few, so that the generator stops soon after the goal.
        pending: list[Any] = []
        source = tasks()
        done = False
        while not done or pending:
            while not done and len(pending) < 2 * jobs:
                task = next(source, None)
                done = task is None
                if task is not None:
                    pending.append(pool.apply_async(_work, (task,)))
            if not pending:
                break
            found = pending.pop(0).get()
            for name in totals:
                totals[name] += found[name]
            for mode, count in found["modes"].items():
                modes[mode] = modes.get(mode, 0) + count
            sources[found["robot"]] = found["source"]
            by_robot[found["robot"]] += found["accepted_segments"]
            wrong += found["wrong"]
            findings += found["findings"]
    seconds = time.perf_counter() - begin
    return {
        "benchmark": "kernel_meshes",
        "seed": seed,
        "seconds": round(seconds, 1),
        "segments_per_s": round(totals["segments"] / seconds),
        **totals,
        "wrong_accepts": wrong,
        "findings": findings[:50],
        "accepted_segments_by_mode": modes,
        "accepted_segments_by_robot": by_robot,
        "meshes": sources,
    }


if __name__ == "__main__":
    root = os.environ.get("MENAGERIE_ROOT")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("segments", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=None, help="a fresh one by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--robots", default=",".join(shipped_robots()))
    parser.add_argument("--menagerie", type=Path, default=Path(root) if root else None)
    parser.add_argument("--hulls", type=Path, default=None)
    words = parser.parse_args()
    result = meshes_benchmark(
        words.segments,
        fresh_seed() if words.seed is None else words.seed,
        words.jobs,
        words.robots.split(","),
        words.menagerie,
        words.hulls,
    )
    print(json.dumps(result))
    sys.exit(1 if result["wrong_accepts"] else 0)
