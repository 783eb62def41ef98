"""What a graph carries between two processes on this machine, and what that costs.

Prints one JSON object: cameras and clouds without loss and their CPU, small messages per second,
discovery, start of a node, memory over a million messages, and `topic hz` under load. Rates of
small messages are given beside what Python alone can pass between two processes (`pipe_ratio`).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from multiprocessing import Pipe, Process
from pathlib import Path
from typing import Any

DOMAIN = "95"
CAMERAS, CAMERA_HZ, CLOUDS, CLOUD_HZ = 4, 30, 2, 10
STREAM_S = 10.0
SMALL = 60_000
MILLION = 1_000_000
IMAGE, CLOUD, STRING = "sensor_msgs/msg/Image", "sensor_msgs/msg/PointCloud2", "std_msgs/msg/String"


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def wait(condition: Any) -> None:
    while not condition():
        time.sleep(0.005)


def stream_pub() -> None:
    import numpy as np

    from openral.ros import Executor, Node
    from openral.ros.codec import types
    from openral.ros.qos import SENSOR

    node = Node("cameras")
    pixels, points = np.zeros(640 * 480 * 3, np.uint8), np.zeros(20_000 * 16, np.uint8)
    streams = [(IMAGE, f"/camera{n}", pixels, CAMERA_HZ) for n in range(CAMERAS)]
    streams += [(CLOUD, f"/cloud{n}", points, CLOUD_HZ) for n in range(CLOUDS)]
    publishers = [node.create_publisher(kind, topic, SENSOR) for kind, topic, _, _ in streams]
    wait(lambda: all(p.has_subscribers for p in publishers))
    time.sleep(0.5)
    sent = dict.fromkeys((topic for _, topic, _, _ in streams), 0)
    executor = Executor()
    executor.add_node(node)

    def sender(index: int) -> Any:
        kind, topic, data, _ = streams[index]

        def send() -> None:
            publishers[index].publish(types.new(kind, height=480, width=640, data=data))
            sent[topic] += 1

        return send

    for index, (_, _, _, hz) in enumerate(streams):
        node.create_timer(1 / hz, sender(index))
    node.create_timer(STREAM_S, executor.stop)
    begin, cpu = time.monotonic(), cpu_s()
    executor.spin()
    share = (cpu_s() - cpu) / (time.monotonic() - begin)
    time.sleep(1.0)
    print(json.dumps({"sent": sent, "cpu": share}))


def stream_sub() -> None:
    from openral.ros import Executor, Node
    from openral.ros.qos import SENSOR

    node = Node("viewer")
    got: dict[str, int] = {}
    first, last, cpu = [0.0], [0.0], [0.0]

    def hear(topic: str) -> Any:
        got[topic] = 0

        def count(message: Any) -> None:
            if not first[0]:
                first[0], cpu[0] = time.monotonic(), cpu_s()
            last[0] = time.monotonic()
            got[topic] += 1
            assert message.data.size > 100_000

        return count

    for n in range(CAMERAS):
        node.create_subscription(IMAGE, f"/camera{n}", hear(f"/camera{n}"), SENSOR)
    for n in range(CLOUDS):
        node.create_subscription(CLOUD, f"/cloud{n}", hear(f"/cloud{n}"), SENSOR)
    executor = Executor()
    executor.add_node(node)
    while not last[0] or time.monotonic() - last[0] < 1.0:
        executor.spin_once(0.1)
    share = (cpu_s() - cpu[0]) / (last[0] - first[0])
    print(json.dumps({"got": got, "cpu": share}))


def small_pub(count: int) -> None:
    from openral.ros import Node
    from openral.ros.codec import types
    from openral.ros.qos import QoS

    node = Node("talker")
    publisher = node.create_publisher(STRING, "/small", QoS(depth=0))
    wait(lambda: publisher.has_subscribers)
    time.sleep(0.3)
    string = types.message_class(STRING)
    warm = 0.0
    for number in range(count):
        publisher.publish(string(data=f"message {number}"))
        if number == count // 10:
            warm = rss_mb()
    grown = rss_mb() - warm
    wait(lambda: not publisher.has_subscribers)
    print(json.dumps({"rss_growth_mb": grown}))


def small_sub(count: int) -> None:
    from openral.ros import Executor, Node
    from openral.ros.qos import QoS

    node = Node("listener")
    executor = Executor()
    heard = [0]
    begin, warm = [0.0], [0.0]

    def hear(message: Any) -> None:
        if not heard[0]:
            begin[0] = time.monotonic()
        assert message.data.endswith(f" {heard[0]}"), "lost or out of order"
        heard[0] += 1
        if heard[0] == count // 10:
            warm[0] = rss_mb()
        if heard[0] == count:
            executor.stop()

    node.create_subscription(STRING, "/small", hear, QoS(depth=0))
    executor.add_node(node)
    executor.spin()
    rate = count / (time.monotonic() - begin[0])
    print(json.dumps({"per_s": rate, "rss_growth_mb": rss_mb() - warm[0]}))


def start_node() -> None:
    begin = time.monotonic()
    from openral.ros import Executor, Node

    node = Node("fresh")
    executor = Executor()
    executor.add_node(node)
    executor.spin_once(0.0)
    started, cpu = time.monotonic(), cpu_s()
    got: list[Any] = []
    node.create_subscription(STRING, "/small", got.append)
    while not got:
        executor.spin_once(1.0)
    first = time.monotonic() - started
    cost = {"start_s": started - begin, "start_cpu_s": cpu, "first_message_s": first}
    print(json.dumps(cost))


def steady_pub() -> None:
    from openral.ros import Node, spin
    from openral.ros.codec import types

    node = Node("steady")
    publisher = node.create_publisher(STRING, "/small")
    node.create_timer(0.01, lambda: publisher.publish(types.new(STRING, data="tick")))
    spin(node)


def busy() -> None:
    while True:
        pass


def start(*role: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "OPENRAL_DOMAIN": DOMAIN}
    command = [sys.executable, __file__, *role]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def pair(sub: list[str], pub: list[str]) -> tuple[Any, Any]:
    listener, talker = start(*sub), start(*pub)
    heard = json.loads(listener.communicate(timeout=600)[0])
    return heard, json.loads(talker.communicate(timeout=60)[0])


def streams() -> dict[str, Any]:
    sub, pub = pair(["stream_sub"], ["stream_pub"])
    total = sub["cpu"] + pub["cpu"]
    lost = {t: n - sub["got"][t] for t, n in pub["sent"].items() if n != sub["got"][t]}
    sent = sum(pub["sent"].values())
    shares = {"publisher_core_share": pub["cpu"], "subscriber_core_share": sub["cpu"]}
    shown = {name: round(value, 3) for name, value in shares.items()}
    return {"sent": sent, "lost": lost, **shown, "met": not lost and total <= 0.35}


def pipe_rate() -> float:
    """What two Python processes pass through a pipe: the yardstick for this machine, today."""
    near, far = Pipe()

    def feed() -> None:
        for number in range(SMALL):
            far.send(f"message {number}")

    process = Process(target=feed)
    process.start()
    near.recv()
    begin = time.monotonic()
    for _ in range(SMALL - 1):
        near.recv()
    rate = (SMALL - 1) / (time.monotonic() - begin)
    process.join()
    return rate


def small() -> dict[str, Any]:
    sub, _ = pair(["small_sub", str(SMALL)], ["small_pub", str(SMALL)])
    rate = sub["per_s"]
    return {"per_s": round(rate), "pipe_ratio": round(rate / pipe_rate(), 3), "met": rate >= 8000}


def memory() -> dict[str, Any]:
    sub, pub = pair(["small_sub", str(MILLION)], ["small_pub", str(MILLION)])
    grown = {"publisher_mb": pub["rss_growth_mb"], "subscriber_mb": sub["rss_growth_mb"]}
    shown = {name: round(value, 2) for name, value in grown.items()}
    return {"messages": MILLION, **shown, "met": max(grown.values()) < 5}


def starting_and_hz() -> dict[str, Any]:
    talker = start("steady_pub")
    time.sleep(1.5)
    tries = [json.loads(start("start_node").communicate(timeout=60)[0]) for _ in range(5)]
    fresh = {name: min(found[name] for found in tries) for name in tries[0]}
    load = [start("busy") for _ in range(max(1, (os.cpu_count() or 2) - 1))]
    command = [sys.executable, "-c", "from openral.cli import main; main()"]
    options = ["topic", "hz", "/small", "--seconds", "5", "--json", "--domain", DOMAIN]
    measured = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    hz = json.loads(measured.stdout)["hz"]
    for process in (*load, talker):
        process.terminate()
        process.communicate()
    return {
        "node_start": {
            "s": round(fresh["start_s"], 3),
            "cpu_s": round(fresh["start_cpu_s"], 3),
            "met": fresh["start_s"] <= 0.5,
        },
        "discovery": {
            "first_message_s": round(fresh["first_message_s"], 3),
            "met": fresh["first_message_s"] <= 1,
        },
        "topic_hz_under_load": {"of_100": round(hz, 2), "met": abs(hz - 100) <= 2},
    }


def main() -> None:
    result: dict[str, Any] = {"benchmark": "ros_throughput"}
    result["cameras_and_clouds"] = streams()
    result["small_messages"] = small()
    result |= starting_and_hz()
    result["memory"] = memory()
    print(json.dumps(result))


if __name__ == "__main__":
    role, *amount = sys.argv[1:] or ["main"]
    globals()[role](*(int(text) for text in amount))
