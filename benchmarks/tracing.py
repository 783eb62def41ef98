"""What a span costs where nothing is exported, beside an empty `with` block, and where it is.

Example: python benchmarks/tracing.py
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import time
from collections.abc import Callable

from openral import tracing

COUNT = 20_000
ROUNDS = 7
TRACE = bytes(range(16))


def empty() -> None:
    with contextlib.nullcontext():
        pass


def guarded() -> None:
    if tracing.enabled():
        raise AssertionError


def spanned() -> None:
    with tracing.span("safety.check", TRACE, mode="joint_position") as span:
        span.set(verdict="accepted")


def nanoseconds(call: Callable[[], None]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        for _ in range(COUNT):
            call()
        best = min(best, (time.perf_counter_ns() - began) / COUNT)
    return round(best, 1)


def main() -> None:
    os.environ.pop(tracing.ENDPOINT, None)
    result: dict[str, object] = {
        "benchmark": "tracing",
        "empty_with_ns": nanoseconds(empty),
        "guard_off_ns": nanoseconds(guarded),
        "span_off_ns": nanoseconds(spanned),
    }
    result["span_off_over_empty"] = round(result["span_off_ns"] / result["empty_with_ns"], 2)  # type: ignore[operator]
    if importlib.util.find_spec("opentelemetry") is not None:
        os.environ[tracing.ENDPOINT] = "http://127.0.0.1:9"  # nobody there: spans are dropped
        tracing.start("benchmark")
        result["span_on_ns"] = nanoseconds(spanned)
    print(json.dumps(result), flush=True)
    os._exit(0)  # the exporter would try for a while to reach nobody


if __name__ == "__main__":
    main()
