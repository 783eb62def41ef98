"""One-way time of a JointState with 8 joints between two processes, codec included, beside rclpy.

Prints one JSON object; `speedup` is rclpy's median over ours (target: 1.8 or more).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
RCLPY = ROOT / ".venv-interop" / "bin" / "python"
PEER = ROOT / "benchmarks" / "ros_peers" / "rclpy_joint_states.py"
DOMAIN = "94"
HZ, COUNT, WARM_UP, SECONDS, ROUNDS = 500, 1500, 250, 20.0, 4
NAMES = [f"joint{number}" for number in range(8)]


def publish() -> None:
    import numpy as np

    from openral.ros import Executor, Node
    from openral.ros.msg import Header, JointState
    from openral.ros.stamps import time_message

    node = Node("pub")
    publisher = node.create_publisher(JointState, "/joint_states")
    values = np.full(8, 0.5)

    def send() -> None:
        header = Header(time_message(time.time_ns()))
        publisher.publish(JointState(header, NAMES, values, values, values))

    node.create_timer(1 / HZ, send)
    executor = Executor()
    executor.add_node(node)
    node.create_timer(SECONDS, executor.stop)
    executor.spin()


def subscribe() -> None:
    from openral.ros import Executor, Node
    from openral.ros.msg import JointState

    delays: list[int] = []
    node = Node("sub")
    executor = Executor()

    def hear(message: Any) -> None:
        sent = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        delays.append(time.time_ns() - sent)
        if len(delays) >= COUNT:
            executor.stop()

    node.create_subscription(JointState, "/joint_states", hear)
    executor.add_node(node)
    executor.spin()
    print(json.dumps(delays))


def measure(command: list[str], roles: tuple[list[str], list[str]]) -> list[int]:
    environment = {
        **os.environ,
        "OPENRAL_DOMAIN": DOMAIN,
        "ROS_DOMAIN_ID": DOMAIN,
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    }
    listener = subprocess.Popen(
        [*command, *roles[0]], env=environment, stdout=subprocess.PIPE, text=True
    )
    time.sleep(1.0)
    talker = subprocess.Popen([*command, *roles[1]], env=environment, stderr=subprocess.DEVNULL)
    output, _ = listener.communicate(timeout=60)
    talker.terminate()
    talker.wait(10)
    delays: list[int] = json.loads(output)[WARM_UP:]
    return delays


def summary(rounds: list[list[int]]) -> dict[str, float]:
    """Of the quietest round: what else the machine does can only add to a delay."""
    best = sorted(min(rounds, key=median))
    return {
        "p50_us": round(median(best) / 1e3, 1),
        "p99_us": round(best[len(best) * 99 // 100] / 1e3, 1),
    }


def main() -> None:
    has_peer = (ROOT / ".venv-interop" / ".ready").exists()
    ours: list[list[int]] = []
    theirs: list[list[int]] = []
    for _ in range(ROUNDS):  # taking turns, so that both meet the same load of the machine
        ours.append(measure([sys.executable, __file__], (["sub"], ["pub"])))
        if has_peer:
            roles = (["sub", str(COUNT)], ["pub", str(SECONDS)])
            theirs.append(measure([str(RCLPY), str(PEER)], roles))
    result: dict[str, Any] = {"benchmark": "ros_latency", "hz": HZ, "openral": summary(ours)}
    if has_peer:
        result["rclpy"] = summary(theirs)
        result["speedup"] = round(result["rclpy"]["p50_us"] / result["openral"]["p50_us"], 2)
        result |= {"target_speedup": 1.8, "met": result["speedup"] >= 1.8}
    else:
        result["rclpy"] = "not installed: run `make interop`"
    print(json.dumps(result))


if __name__ == "__main__":
    {"pub": publish, "sub": subscribe}.get(sys.argv[-1], main)()
