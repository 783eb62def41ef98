"""A whole graph for hours: nothing of it may grow, slow down or stop.

`openral deploy sim` runs the kitchen as fast as the machine allows, with all cameras, the map and a
policy that keeps the arm moving. Memory, threads, descriptors and shared memory of every process
are sampled. After a warm-up the rise of each (Theil-Sen slope times the time judged) must stay
below its limit; the robot must not stop, and nothing may be left when it ends.

`python benchmarks/soak.py [MINUTES] [--factor F] [--record]`: 60 minutes by default; F is the least
real-time factor (default 0.5, since it shares two cores with its own pictures). Prints one JSON
object; exit code 1: something grew, stopped or was left.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from shared.members import Members, shared_files
from shared.targets import finish

from openral.ros.node.context import Context
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.qos import CLOCK
from openral.ros.transport.dds_config import Network

DOMAIN = 98
SAMPLES, TELL = 500, 10
WARM_UP, LONGEST_WARM_UP_S = 0.3, 300.0
STARTING_S, ENDING_S = 180.0, 60.0
LIMITS = {"rss_mb": 4.0, "shared_mb": 0.5, "threads": 0.5, "descriptors": 0.5}
"""How much each may rise within the time judged."""
ROBOT = "panda_mobile"
SPEED, AMPLITUDE, JOINTS = 0.15, 0.1, "[panda_joint1, panda_joint4]"
"""Of the joints' limits and ranges: faster, the hand might turn faster than it may."""


class Graph:
    """The graph under test and what it says at its end."""

    def __init__(self, arguments: list[str], domain: int) -> None:
        command = [str(Path(sys.executable).with_name("openral")), "deploy", "sim", "--json"]
        self.process = subprocess.Popen(
            [*command, *arguments],
            env={**os.environ, "OPENRAL_DOMAIN": str(domain)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stderr or ():
            self._said = [*self._said[-50:], line.rstrip()]

    @property
    def lives(self) -> bool:
        return self.process.poll() is None

    def end(self) -> dict[str, Any]:
        if self.lives:
            self.process.send_signal(signal.SIGINT)
        try:
            text, _ = self.process.communicate(timeout=ENDING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            text, _ = self.process.communicate()
        self._reader.join(5.0)
        summary = json.loads(text) if text else {"exit_code": None}
        if summary.get("exit_code") != 0:
            summary["said"] = self._said[-20:]
        return dict(summary)


def arguments() -> list[str]:
    """The kitchen, and an arm that wanders over a base that stands."""
    moves = {"speed": SPEED, "amplitude": AMPLITUDE, "joints": JOINTS}
    given = [f"--param={name}={value}" for name, value in moves.items()]
    scene = ["--config", "kitchen", "--robot", ROBOT, "--rtf", "max"]
    return [*scene, "--skill", "random", *given]


def rise(times: list[float], values: list[float]) -> float:
    """Theil-Sen slope times the duration: a few outliers do not change it."""
    if len(times) < 3:
        return 0.0
    first, second = np.triu_indices(len(times), 1)
    at, value = np.array(times), np.array(values, float)
    slopes = (value[second] - value[first]) / (at[second] - at[first])
    return float(np.median(slopes)) * (times[-1] - times[0])


def judged(samples: list[tuple[float, dict[str, dict[str, float]]]]) -> dict[str, Any]:
    """By process: how it began, how it ended, and its rise."""
    found: dict[str, Any] = {}
    for name in sorted({name for _, sample in samples for name in sample}):
        mine = [(at, sample[name]) for at, sample in samples if name in sample]
        times, entry = [at for at, _ in mine], {}
        for what in LIMITS:
            values = [values[what] for _, values in mine]
            edge = max(1, len(values) // 10)
            entry[what] = {
                "first": round(statistics.median(values[:edge]), 2),
                "last": round(statistics.median(values[-edge:]), 2),
                "rise": round(rise(times, values), 3),
            }
        found[name] = {"samples": len(mine), **entry}
    return found


def watch(
    graph: Graph, minutes: float, ticks: list[tuple[float, float]]
) -> list[tuple[float, dict[str, dict[str, float]]]]:
    """Samples from the first moved clock on, for so many minutes or until the graph ends."""
    members = Members(graph.process.pid)
    give_up = time.monotonic() + STARTING_S
    while graph.lives and time.monotonic() < give_up and "policy" not in members.sample():
        time.sleep(0.2)
    began, samples = time.monotonic(), []
    ticks.clear()
    step = max(0.2, 60.0 * minutes / SAMPLES)
    while graph.lives and (now := time.monotonic()) < began + 60.0 * minutes:
        samples.append((now - began, members.sample()))
        if len(samples) % TELL == 1:
            told = {name: round(used["rss_mb"], 1) for name, used in samples[-1][1].items()}
            print(f"{now - began:.0f} s: {told}", file=sys.stderr, flush=True)
        time.sleep(step)
    return samples


def factor(ticks: list[tuple[float, float]]) -> float:
    """Graph's seconds a real one."""
    if len(ticks) < 2:
        return 0.0
    (wall, graph), (later, end) = ticks[0], ticks[-1]
    return round((end - graph) / max(later - wall, 1e-9), 3)


def soak(minutes: float, domain: int, *more: str) -> dict[str, Any]:
    """The measurements."""
    ticks: list[tuple[float, float]] = []

    def tick(data: bytes) -> None:
        now = time.monotonic()
        if not ticks or now - ticks[-1][0] > 0.1:
            seconds, nanoseconds = struct.unpack_from("<iI", data, 4)
            ticks.append((now, seconds + nanoseconds * 1e-9))

    shared = shared_files()
    with Context(Network(domain)) as context:
        node, executor = Node("ear", context=context), Executor(context)
        node.create_subscription("rosgraph_msgs/msg/Clock", "/clock", tick, CLOCK, raw=True)
        executor.add_node(node)
        executor.start()
        graph = Graph([*arguments(), *more], domain)
        samples = watch(graph, minutes, ticks)
        heard = list(ticks)
        members = Members(graph.process.pid).pids()
        lived, summary = graph.lives, graph.end()
        executor.shutdown()
    warm = min(60.0 * minutes * WARM_UP, LONGEST_WARM_UP_S)
    return {
        "minutes": round(samples[-1][0] / 60.0, 2) if samples else 0.0,
        "warm_up_s": warm,
        "real_time_factor": factor(heard),
        "first_half": factor(heard[: len(heard) // 2]),
        "second_half": factor(heard[len(heard) // 2 :]),
        "lived": lived,
        "summary": {
            name: summary.get(name)
            for name in ("exit_code", "exit_reason", "estops", "failures", "verdicts", "said")
        },
        "processes_left": sorted(pid for pid in members if Path(f"/proc/{pid}").exists()),
        "shared_files_left": sorted(shared_files() - shared),
        "processes": judged([(at, sample) for at, sample in samples if at >= warm]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("minutes", type=float, nargs="?", default=60.0)
    parser.add_argument("--factor", type=float, default=0.5, help="least real-time factor")
    parser.add_argument("--record", action="store_true", help="record, into a temporary folder")
    parser.add_argument("--domain", type=int, default=DOMAIN)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        more = ("--record", f"{folder}/recording") if given.record else ()
        found = soak(given.minutes, given.domain, *more)
    within = {
        "whole_time": found["lived"] and found["minutes"] >= 0.9 * given.minutes,
        "exit": found["summary"]["exit_code"] == 0,
        "no_stop": found["summary"]["estops"] == 0,
        "real_time_factor": found["real_time_factor"] >= given.factor,
        "nothing_left": not found["processes_left"] and not found["shared_files_left"],
        "no_growth": {
            f"{name} {what}": entry[what]["rise"] <= limit
            for name, entry in found["processes"].items()
            for what, limit in LIMITS.items()
        }
        or {"nothing was sampled": False},
    }
    finish({"benchmark": "soak", "load": os.getloadavg()[1], **found}, within)


if __name__ == "__main__":
    main()
