"""A million adversarial segments in every mode: false accepts, false rejects, availability."""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.safety.fuzzing import build_fuzzer, run_fuzzer, shipped


def _rate(modes: dict[str, Any], names: tuple[str, ...]) -> float | None:
    clear = sum(modes[n]["clear"] for n in names)
    refused = sum(modes[n]["refused_clear"] for n in names)
    return round(refused / clear, 5) if clear else None


def fuzz_benchmark(segments: int, seed: int) -> dict[str, Any]:
    """Runs the fuzzer and sums it up."""
    program = build_fuzzer()
    with tempfile.TemporaryDirectory() as folder:
        robots = shipped(Path(folder) / "robots.txt")
        begin = time.perf_counter()
        found = run_fuzzer(program, segments, seed, robots)
    modes = found["modes"]
    return {
        "benchmark": "kernel_fuzz",
        "seconds": round(time.perf_counter() - begin, 1),
        "segments": found["segments"],
        "accepted_segments": sum(m["accepted_segments"] for m in modes.values()),
        "false_accepts": found["false_accepts"],
        "findings": found["findings"],
        "false_reject_rate": _rate(modes, tuple(modes)),
        "false_reject_rate_by_mode": {n: _rate(modes, (n,)) for n in modes},
        "availability": {n: round(m["accepted"] / m["chunks"], 3) for n, m in modes.items()},
        "chunks": {n: m["chunks"] for n, m in modes.items()},
        # Tool paths that the kernel found no joints for, and how many of them the fuzzer's could.
        "unsolved": {n: [m["unsolved"], m["unsolved_followable"]] for n, m in modes.items()},
        "statuses": found["statuses"],
    }


if __name__ == "__main__":
    result = fuzz_benchmark(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, 1)
    print(json.dumps(result))
    sys.exit(1 if result["false_accepts"] else 0)
