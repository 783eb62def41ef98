"""What the kernel node adds to a chunk on its way to the HAL, beside a node that only relays it.

A 50-row chunk for the Panda goes to both in turn, each in a process of its own; the time is from
publishing it to hearing what comes out. Prints one JSON object; `added_p50_us` is the kernel's
median less the relay's (target: at most 300 µs; exit code 1: missed).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from statistics import median
from typing import Any

import numpy as np
from shared.targets import finish

DOMAIN = "95"
COUNT, WARM_UP, PAUSE_S, ROWS, DT = 800, 100, 0.004, 50, 0.05
CHUNK, SAFE = "openral_msgs/msg/ActionChunk", "openral_msgs/msg/SafeAction"
RELAY_IN, RELAY_OUT = "/bench/in", "/bench/out"
TARGET_US = 300.0


def relay() -> None:
    from openral.ros import Node, spin
    from openral.ros.qos import COMMAND

    node = Node("relay")
    out = node.create_publisher(SAFE, RELAY_OUT, COMMAND)
    node.create_subscription(CHUNK, RELAY_IN, out.publish_bytes, COMMAND, raw=True)
    spin(node)


class Bench:
    def __init__(self) -> None:
        from openral.manifest import load_robot
        from openral.ros import Executor, Node
        from openral.ros.qos import COMMAND, SENSOR

        self.robot = load_robot("franka_panda")
        self.node = Node("bench")
        self.heard = threading.Event()
        self.at = 0
        make, hear = self.node.create_publisher, self.node.create_subscription
        self.joints = make("sensor_msgs/msg/JointState", "/joint_states", SENSOR)
        self.to = {
            "kernel": make(CHUNK, "/openral/candidate_action", COMMAND),
            "relay": make(CHUNK, RELAY_IN, COMMAND),
        }
        for topic in ("/openral/safe_action", RELAY_OUT):
            hear(SAFE, topic, self._hear, COMMAND, raw=True)
        self.node.create_timer(0.02, self._speak)
        self.executor = Executor(self.node.context)
        self.executor.add_node(self.node)
        self.executor.start()

    def _hear(self, payload: bytes) -> None:
        self.at = time.perf_counter_ns()
        self.heard.set()

    def _speak(self) -> None:
        from openral.ros.codec import types

        home = np.array(self.robot.home_position)
        header = types.new("std_msgs/msg/Header", stamp=self.node.stamp())
        self.joints.publish(
            types.new(
                "sensor_msgs/msg/JointState",
                header=header,
                name=self.robot.joint_names,
                position=home,
                velocity=0 * home,
            )
        )

    def chunk(self) -> bytes:
        from openral.bench.work import ControlMode, chunk
        from openral.ros.codec import types

        rows = np.tile(self.robot.home_position, (ROWS, 1))
        rows[:, 0] += 0.2 * np.sin(np.linspace(0.0, np.pi, ROWS))
        made: Any = chunk(ControlMode.JOINT_POSITION, rows, dt=DT)
        made.header = types.new("std_msgs/msg/Header", stamp=self.node.stamp())
        return types.encode(made)

    def once(self, way: str) -> int:
        payload = self.chunk()
        self.heard.clear()
        began = time.perf_counter_ns()
        self.to[way].publish_bytes(payload)
        if not self.heard.wait(2.0):
            raise SystemExit(f"nothing came through the {way}")
        return self.at - began

    def arm(self) -> None:
        deadline = time.monotonic() + 20
        client = self.node.create_client("std_srvs/srv/Trigger", "/openral/reset")
        while not client.call(client.request_class(), 20.0).success:
            if time.monotonic() > deadline:
                raise SystemExit("the kernel does not arm")
            time.sleep(0.05)
        while not all(publisher.has_subscribers for publisher in self.to.values()):
            time.sleep(0.05)
        time.sleep(0.5)


def processes() -> list[subprocess.Popen[bytes]]:
    from openral.graph.run_key import RunKey

    environment = {**os.environ, "OPENRAL_DOMAIN": DOMAIN}
    started = [subprocess.Popen([sys.executable, __file__, "relay"], env=environment)]
    with RunKey.create().lent() as loan:
        command = [sys.executable, "-m", "openral.safety", "--autostart", "robot_yaml=franka_panda"]
        environment |= loan.environment
        started.append(subprocess.Popen(command, env=environment, pass_fds=loan.fds))
    return started


def summary(times: list[int]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "p50_us": round(median(ordered) / 1e3, 1),
        "p99_us": round(ordered[len(ordered) * 99 // 100] / 1e3, 1),
    }


def main() -> None:
    os.environ["OPENRAL_DOMAIN"] = DOMAIN
    started = processes()
    try:
        bench = Bench()
        bench.arm()
        times: dict[str, list[int]] = {"kernel": [], "relay": []}
        for number in range(COUNT):
            for way, found in times.items():
                taken = bench.once(way)
                if number >= WARM_UP:
                    found.append(taken)
                time.sleep(PAUSE_S)
        bench.executor.shutdown()
    finally:
        for process in started:
            process.terminate()
            process.wait(10)
    kernel, plain = summary(times["kernel"]), summary(times["relay"])
    added = round(kernel["p50_us"] - plain["p50_us"], 1)
    result = {
        "benchmark": "kernel_node",
        "rows": ROWS,
        "kernel": kernel,
        "relay": plain,
        "ratio_p50": round(kernel["p50_us"] / plain["p50_us"], 2),
        "added_p50_us": added,
        "added_p99_us": round(kernel["p99_us"] - plain["p99_us"], 1),
        "target_added_p50_us": TARGET_US,
        "load": os.getloadavg()[0],
    }
    finish(result, {"added_p50": added <= TARGET_US})


if __name__ == "__main__":
    {"relay": relay}.get(sys.argv[-1], main)()
