"""Mapping with the whole graph around it: the kitchen, live, with depth at 12 Hz.

`openral deploy sim --config kitchen` runs for a minute while all streams are heard, clouds and
pictures included. Prints one JSON object: measurements that became a published map in a graph's
second (target 10), the longest gap between two, the rate of every stream beside the configured
one (target 95%), and the real-time factor (target 0.9). All of it runs on two cores. Exit code 1: a
target was missed. Worth something on an idle machine only; `load` says how busy it was.

`python benchmarks/world_rates.py 12 60`: depth rate in Hz, seconds.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from shared.targets import finish

from openral.graph.topics import SENSOR, VOXELS
from openral.manifest import load_robot
from openral.manifest.sensor import DepthCamera
from openral.ros.node.context import Context
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.transport.dds_config import Network

DOMAIN = 97
TARGET_HZ, DEPTH_HZ = 10.0, 12.0
SHARE, FACTOR, CORES = 0.95, 0.9, 2


def robot_file(folder: Path, depth_hz: float) -> Path:
    """panda_mobile with depth cameras of that rate."""
    robot = load_robot("panda_mobile")
    data = robot.model_dump(mode="json", exclude_unset=True)
    for sensor, entry in zip(robot.sensors, data["sensors"], strict=True):
        if isinstance(sensor, DepthCamera):
            entry["rate_hz"] = depth_hz
    path = folder / robot.id / "robot.yaml"
    path.parent.mkdir()
    path.write_text(json.dumps(data))
    return path


def deploy(robot: Path, seconds: float) -> dict[str, Any]:
    command = [str(Path(sys.executable).with_name("openral")), "deploy", "sim", "--json"]
    command += ["--config", "kitchen", "--robot", str(robot), "--duration", str(seconds)]
    done = subprocess.run(
        command,
        env={**os.environ, "OPENRAL_DOMAIN": str(DOMAIN)},
        capture_output=True,
        text=True,
        timeout=10 * seconds + 120,
        check=False,
    )
    if not done.stdout:
        raise SystemExit(done.stderr[-2000:])
    return dict(json.loads(done.stdout))


def mapped(stamps: list[float]) -> dict[str, Any]:
    """Rate and longest gap of measurements, without the graph's first five seconds."""
    times = np.unique(stamps)
    times = times[times > 5.0]
    if times.size < 2:
        return {"maps": int(times.size), "hz": 0.0}
    gaps = np.diff(times)
    return {
        "maps": int(times.size),
        "hz": round(float(gaps.size / gaps.sum()), 2),
        "longest_gap_s": round(float(gaps.max()), 3),
    }


def main() -> None:
    depth_hz = float(sys.argv[1]) if len(sys.argv) > 1 else DEPTH_HZ
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
    stamps: list[float] = []
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])  # its children too

    def hear(data: bytes) -> None:
        seconds, nanoseconds = struct.unpack_from("<iI", data, 4)  # the header's stamp
        stamps.append(seconds + nanoseconds * 1e-9)

    with tempfile.TemporaryDirectory() as folder, Context(Network(DOMAIN)) as context:
        node, executor = Node("ear", context=context), Executor(context)
        node.create_subscription("openral_msgs/msg/OccupancyVoxels", VOXELS, hear, SENSOR, raw=True)
        executor.add_node(node)
        executor.start()
        summary = deploy(robot_file(Path(folder), depth_hz), seconds)
        executor.shutdown()
    maps = mapped(stamps)
    rates = {
        topic: (rate["measured"], rate["configured"])
        for topic, rate in summary.get("rates", {}).items()
    }
    result = {
        "benchmark": "world_rates",
        "depth_hz": depth_hz,
        "seconds": seconds,
        "cores": len(os.sched_getaffinity(0)),
        "cores_of_machine": os.cpu_count(),
        "load": os.getloadavg()[1],
        "mapping": maps,
        "real_time_factor": summary.get("real_time_factor"),
        "rates": rates,
        "exit_code": summary["exit_code"],
    }
    within = {
        "mapping": maps["hz"] >= TARGET_HZ,
        "rates": bool(rates) and all(heard >= SHARE * asked for heard, asked in rates.values()),
        "real_time_factor": (summary.get("real_time_factor") or 0.0) >= FACTOR,
        "exit": summary["exit_code"] == 0,
        "cores": len(os.sched_getaffinity(0)) == CORES,
    }
    finish(result, within)


if __name__ == "__main__":
    main()
