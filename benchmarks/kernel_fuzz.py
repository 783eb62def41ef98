"""Adversarial segments in every mode with a fresh seed: false accepts, false rejects, availability.

python benchmarks/kernel_fuzz.py [SEGMENTS] [--seed N] [--seconds S] [--jobs J]
python benchmarks/kernel_fuzz.py --static FOLDER     # the program and its robots, to carry away
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.safety.fuzzing import build_fuzzer, fresh_seed, run_fuzzer, shipped


def _rate(modes: dict[str, Any], names: tuple[str, ...]) -> float | None:
    clear = sum(modes[n]["clear"] for n in names)
    refused = sum(modes[n]["refused_clear"] for n in names)
    return round(refused / clear, 5) if clear else None


def fuzz_benchmark(segments: int, seed: int, jobs: int, seconds: float = 0.0) -> dict[str, Any]:
    """Runs the fuzzer and sums it up."""
    program = build_fuzzer()
    options = ["--jobs", str(jobs), *(["--seconds", str(seconds)] if seconds else [])]
    with tempfile.TemporaryDirectory() as folder:
        robots = shipped(Path(folder) / "robots.txt")
        found = run_fuzzer(program, segments, seed, robots, *options)
    modes = found["modes"]
    return {
        "benchmark": "kernel_fuzz",
        "seed": found["seed"],
        "jobs": found["jobs"],
        "seconds": found["seconds"],
        "segments": found["segments"],
        "segments_per_s": round(found["segments"] / max(found["seconds"], 1e-9)),
        "accepted_segments": found["accepted_segments"],
        "false_accepts": found["false_accepts"],
        "findings": found["findings"],
        "false_reject_rate": _rate(modes, tuple(modes)),
        "false_reject_rate_by_mode": {n: _rate(modes, (n,)) for n in modes},
        "audited": found["audited"],
        "availability": {
            n: round(m["accepted"] / m["chunks"], 3) for n, m in modes.items() if m["chunks"]
        },
        "chunks": {n: m["chunks"] for n, m in modes.items()},
        "behaviours": found["behaviours"],
        # Tool paths that the kernel found no joints for, and how many of them the fuzzer's could.
        "unsolved": {n: [m["unsolved"], m["unsolved_followable"]] for n, m in modes.items()},
        "statuses": found["statuses"],
    }


def _carry(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy2(build_fuzzer(static=True), folder / "openral_kernel_fuzz")
    shipped(folder / "robots.txt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("segments", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=None, help="a fresh one by default")
    parser.add_argument("--seconds", type=float, default=0.0, help="so long, not so many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--static", type=Path, help="only build a program to carry away")
    words = parser.parse_args()
    if words.static:
        _carry(words.static)
        sys.exit(0)
    seed = fresh_seed() if words.seed is None else words.seed
    result = fuzz_benchmark(words.segments, seed, words.jobs, words.seconds)
    print(json.dumps(result))
    sys.exit(1 if result["false_accepts"] else 0)
