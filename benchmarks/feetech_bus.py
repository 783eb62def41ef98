"""What the servo bus costs over bare reads of the same port, and how soon a loss is named.

Example: python benchmarks/feetech_bus.py
"""

from __future__ import annotations

import json
import os
import select
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from openral.errors import TransportError
from openral.hal.drivers.feetech import protocol
from openral.hal.drivers.feetech.bus import Bus
from openral.hal.drivers.feetech.port import open_port
from openral.hal.drivers.feetech.registers import PRESENT_POSITION, SNAPSHOT_SIZE, SNAPSHOT_START

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "hal"))
from feetech_simulator import FeetechSimulator

TURNS = 3000
IDS = [1, 2, 3, 4, 5, 6]
LIMIT_MS = 100


def compare(call: Callable[[], object], peer: Callable[[], object]) -> dict[str, float]:
    """Medians of single calls, taken in turns: a batch's mean tells of the machine's load only.

    CPU time is what the call costs its process; wall time includes the simulator's share.
    """
    cpu: tuple[list[int], list[int]] = ([], [])
    wall: tuple[list[int], list[int]] = ([], [])
    for _ in range(TURNS):
        for index, one in enumerate((call, peer)):
            wall_start, cpu_start = time.perf_counter_ns(), time.thread_time_ns()
            one()
            cpu[index].append(time.thread_time_ns() - cpu_start)
            wall[index].append(time.perf_counter_ns() - wall_start)
    return {
        "wall_ms": round(statistics.median(wall[0]) / 1e6, 4),
        "wall_over_bare": round(statistics.median(wall[0]) / statistics.median(wall[1]), 2),
        "cpu_ms": round(statistics.median(cpu[0]) / 1e6, 4),
        "cpu_over_bare": round(statistics.median(cpu[0]) / statistics.median(cpu[1]), 2),
    }


def bare(fd: int, request: bytes, size: int) -> Callable[[], None]:
    """The same bytes without any check."""

    def once() -> None:
        os.write(fd, request)
        left = size
        while left > 0:
            select.select([fd], [], [])
            left -= len(os.read(fd, 4096))

    return once


def until_error(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    try:
        while True:
            call()
    except TransportError:
        return 1e3 * (time.perf_counter() - start)


def main() -> None:
    with FeetechSimulator() as simulator:
        bus = Bus(open_port(simulator.port))

        def snapshot() -> object:
            return bus.sync_read(IDS, SNAPSHOT_START, SNAPSHOT_SIZE)

        bus.get(1, PRESENT_POSITION)
        fd = bus.port.fd
        address, size = PRESENT_POSITION.address, PRESENT_POSITION.size
        request = protocol.sync_read(IDS, SNAPSHOT_START, SNAPSHOT_SIZE)
        before = simulator.requests()
        one = compare(
            lambda: bus.get(1, PRESENT_POSITION),
            bare(fd, protocol.read(1, address, size), 6 + size),
        )
        six = compare(snapshot, bare(fd, request, len(IDS) * (6 + SNAPSHOT_SIZE)))
        served = simulator.requests() - before
        asked = 4 * TURNS + bus.counters.retries + bus.counters.fences - 1
        if served != asked:
            raise SystemExit(f"{asked} requests made but {served} served: not a measurement")
        for servo in IDS:
            simulator.remove(servo)
        silent = until_error(snapshot)
        simulator.unplug()
        unplugged = until_error(snapshot)
    result = {
        "benchmark": "feetech_bus",
        "read": one,
        "snapshot_of_six": six,
        "unplugged_error_ms": round(unplugged, 2),
        "silent_error_ms": round(silent, 2),
        "limit_ms": LIMIT_MS,
        "ok": max(unplugged, silent) < LIMIT_MS,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
