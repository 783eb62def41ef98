"""The HAL's node at work: rates in the kitchen with an ear on every topic, and the way of a motion.

`rates`: panda_mobile in `kitchen` with its kernel, on two cores; one process subscribes to every
topic of the HAL (the scene's own cameras, drawn for whoever asks, are not the robot's). Prints, for
each topic with a rate, the rate heard against the configured one (target: 95%), the real-time
factor (0.9), the longest silence of /clock and the processor time of each process. `latency`: from
publishing a candidate to hearing that the HAL applies its first row (p50 3 ms, p99 15 ms). Prints
one JSON object; exit code 1: a target was missed.

    python benchmarks/hal_node.py --seconds 60
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from shared.targets import finish

DOMAIN = "96"
ROBOT, SCENE = "panda_mobile", "kitchen"
CAMERA_HZ = 10.0
TARGETS = {"rate_share": 0.95, "real_time_factor": 0.9, "p50_ms": 3.0, "p99_ms": 15.0}
WANTED_HZ = {
    "/joint_states": 50.0,
    "/odom": 50.0,
    "/tf": 50.0,
    "/openral/hal_state": 50.0,
    "/openral/objects": 50.0,
    "/scan": 10.0,
    "/openral/cameras/shoulder_left/image": CAMERA_HZ,
    "/openral/cameras/shoulder_right/image": CAMERA_HZ,
    "/openral/cameras/wrist/image": CAMERA_HZ,
    "/openral/cameras/front_depth/points": 5.0,
    "/openral/cameras/front_depth/depth": 5.0,
    "/openral/cameras/shoulder_left/camera_info": CAMERA_HZ,
    "/openral/cameras/shoulder_right/camera_info": CAMERA_HZ,
    "/openral/cameras/wrist/camera_info": CAMERA_HZ,
    "/openral/cameras/front_depth/camera_info": 5.0,
}
CORES = 2
KINDS = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/odom": "nav_msgs/msg/Odometry",
    "/tf": "tf2_msgs/msg/TFMessage",
    "/openral/hal_state": "openral_msgs/msg/HalState",
    "/openral/objects": "openral_msgs/msg/WorldCollision",
    "/scan": "sensor_msgs/msg/LaserScan",
}


def kind_of(topic: str) -> str:
    if topic in KINDS:
        return KINDS[topic]
    kinds = {"points": "PointCloud2", "camera_info": "CameraInfo"}
    return "sensor_msgs/msg/" + kinds.get(topic.rpartition("/")[2], "Image")


class Ear:
    """Counts what is heard, and when."""

    def __init__(self) -> None:
        from openral.ros import Node
        from openral.ros.node.executor import Executor
        from openral.ros.qos import SENSOR

        self.node = Node("ear")
        self.counts: dict[str, int] = defaultdict(int)
        self.clock_ns, self.clock_at, self.longest = 0, 0.0, 0.0
        self.heard = {"/clock"}
        for topic in WANTED_HZ:
            self._hear(topic, kind_of(topic))
        self.node.create_subscription("rosgraph_msgs/msg/Clock", "/clock", self._tick, SENSOR)
        self.executor = Executor(self.node.context)
        self.executor.add_node(self.node)
        self.executor.start()

    def hear_all(self) -> None:
        """Subscribes to whatever else the HAL publishes, but not to the scene's own cameras."""
        from openral.ros.graph import Graph

        graph = Graph(self.node.context)
        graph.settle()
        (hal,) = (node for node in graph.nodes() if node.full_name == "/hal")
        for topic in hal.publishers:
            if topic.name not in self.heard and not topic.name.startswith("/openral/cameras/"):
                self._hear(topic.name, topic.type_name)
        graph.close()

    def _hear(self, topic: str, kind: str) -> None:
        from openral.ros.qos import SENSOR

        self.heard.add(topic)
        self.node.create_subscription(kind, topic, self._counter(topic), SENSOR, raw=True)

    def _counter(self, topic: str) -> Any:
        def count(_: bytes) -> None:
            self.counts[topic] += 1

        return count

    def _tick(self, message: Any) -> None:
        now = time.monotonic()
        if self.clock_at:
            self.longest = max(self.longest, now - self.clock_at)
        self.clock_ns = message.clock.sec * 10**9 + message.clock.nanosec
        self.clock_at = now


def start(module: str, key: Any, *parameters: str) -> subprocess.Popen[bytes]:
    with key.lent() as loan:
        return subprocess.Popen(
            [sys.executable, "-m", module, "--autostart", *parameters],
            env={**os.environ, **loan.environment},
            pass_fds=loan.fds,
            stderr=subprocess.DEVNULL,
        )


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait(condition: Any, seconds: float = 60.0) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up:
            raise TimeoutError("the graph did not come up")
        time.sleep(0.01)


def rates(ear: Ear, processes: dict[str, subprocess.Popen[bytes]], seconds: float) -> Any:
    pids = {name: process.pid for name, process in processes.items()} | {"ear": os.getpid()}
    before_cpu = {name: cpu_s(pid) for name, pid in pids.items()}
    before, began, sim = dict(ear.counts), time.monotonic(), ear.clock_ns
    ear.longest = 0.0
    time.sleep(seconds)
    took = time.monotonic() - began
    heard = {topic: (ear.counts[topic] - before[topic]) / took for topic in WANTED_HZ}
    shares = {topic: round(heard[topic] / hz, 3) for topic, hz in WANTED_HZ.items()}
    return {
        "seconds": round(took, 1),
        "hz": {topic: round(rate, 2) for topic, rate in heard.items()},
        "lowest_rate_share": min(shares.values()),
        "real_time_factor": round((ear.clock_ns - sim) / 1e9 / took, 3),
        "longest_clock_silence_ms": round(ear.longest * 1e3, 1),
        "cores": {
            name: round((cpu_s(pid) - before_cpu[name]) / took, 2) for name, pid in pids.items()
        },
        "load_average": os.getloadavg()[0],
    }


def latency(count: int) -> Any:
    """The arm holds its pose: a chunk of one row, proposed at random moments.

    In a process of its own, so that what the ear has to copy does not count.
    """
    from openral.graph import topics
    from openral.manifest import ControlMode, load_robot
    from openral.ros import Node, msg
    from openral.ros.node.executor import Executor
    from openral.ros.qos import SENSOR, STATE

    robot, node = load_robot(ROBOT), Node("proposer")
    executor = Executor(node.context)
    executor.add_node(node)
    executor.start()
    clock: list[Any] = []
    node.create_subscription("rosgraph_msgs/msg/Clock", "/clock", clock.append, SENSOR)
    applied: dict[bytes, float] = {}
    heard = threading.Event()

    def on_applied(message: Any) -> None:
        applied.setdefault(bytes(message.trace_id), time.perf_counter())
        heard.set()

    node.create_subscription(
        "openral_msgs/msg/AppliedAction", "/openral/applied_action", on_applied, STATE
    )
    poses: list[Any] = []
    node.create_subscription("sensor_msgs/msg/JointState", "/joint_states", poses.append, STATE)
    out = node.create_publisher("openral_msgs/msg/ActionChunk", topics.CANDIDATE, topics.COMMAND)
    wait(lambda: out.has_subscribers and poses and clock)
    home = poses[-1].position  # always the same: what is measured sags a little each time
    verdicts: list[Any] = []
    node.create_subscription("openral_msgs/msg/Verdict", topics.VERDICT, verdicts.append, STATE)
    states: list[Any] = []
    kind = "openral_msgs/msg/SafetyState"
    node.create_subscription(kind, topics.SAFETY_STATE, states.append, topics.LATCHED)
    client = node.create_client("std_srvs/srv/Trigger", topics.RESET)
    random, taken, stops = np.random.default_rng(0), [], []
    mode = ControlMode.JOINT_POSITION.byte
    armed = False
    while len(taken) < count and len(stops) < 20:
        if not armed:
            wait(lambda: client.call(client.request_class(), 5.0).success)
            armed = True
        time.sleep(float(random.uniform(0.02, 0.06)))
        trace = secrets.token_bytes(16)
        slot = msg.ActionSlot(control_mode=mode, width=len(robot.driven), data=home)
        chunk = msg.ActionChunk(
            header=msg.Header(stamp=clock[-1].clock),
            trace_id=np.frombuffer(trace, np.uint8),
            control_mode=mode,
            dt=0.02,
            rows=1,
            slots=[slot],
        )
        heard.clear()
        sent = time.perf_counter()
        out.publish(chunk)
        give_up = time.monotonic() + 1.0
        while trace not in applied and time.monotonic() < give_up:
            heard.wait(0.05)
            heard.clear()
        if trace in applied:
            taken.append(applied[trace] - sent)
        else:
            state, verdict = states[-1], verdicts[-1] if verdicts else None
            stops.append(f"{state.detail}; {verdict.detail if verdict else 'no verdict'}")
            armed = False
    executor.shutdown()
    times = np.array(taken) * 1e3
    return {
        "candidates": count,
        "not_applied": len(stops),
        "because": sorted(set(stops))[:5],
        "p50_ms": round(float(np.percentile(times, 50)), 2) if taken else 1e9,
        "p99_ms": round(float(np.percentile(times, 99)), 2) if taken else 1e9,
    }


def propose(count: int) -> Any:
    command = [sys.executable, __file__, "--propose", "--candidates", str(count)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def judged(rates: Any, latency: Any) -> dict[str, bool]:
    return {
        "rates": rates["lowest_rate_share"] >= TARGETS["rate_share"],
        "real_time_factor": rates["real_time_factor"] >= TARGETS["real_time_factor"],
        "p50": latency["p50_ms"] <= TARGETS["p50_ms"],
        "p99": latency["p99_ms"] <= TARGETS["p99_ms"],
        "applied": latency["not_applied"] == 0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--candidates", type=int, default=400)
    parser.add_argument("--propose", action="store_true", help="to a graph that runs already")
    options = parser.parse_args()
    os.environ["OPENRAL_DOMAIN"] = DOMAIN
    if options.propose:
        print(json.dumps(latency(options.candidates)))
        return
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])  # its children too
    from openral.graph.run_key import RunKey

    key, ear = RunKey.create(), Ear()
    began = time.monotonic()
    hal = start(
        "openral.hal", key, f"robot_yaml={ROBOT}", f"sim_env_yaml={SCENE}", f"camera_hz={CAMERA_HZ}"
    )
    processes = {"hal": hal}
    try:
        wait(lambda: ear.counts["/openral/cameras/wrist/image"])
        first_image = time.monotonic() - began
        processes["kernel"] = start(
            "openral.safety", key, f"robot_yaml={ROBOT}", "use_sim_time=true"
        )
        ear.hear_all()
        wait(lambda: all(ear.counts[topic] for topic in WANTED_HZ))
        time.sleep(2.0)
        found = {
            "robot": ROBOT,
            "scene": SCENE,
            "cores": len(os.sched_getaffinity(0)),
            "first_image_s": round(first_image, 2),
            "topics_heard": sorted(ear.heard),
            "rates": rates(ear, processes, options.seconds),
            "latency": propose(options.candidates),
            "targets": TARGETS,
        }
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            process.wait(15)
        ear.executor.shutdown()
    finish(found, judged(found["rates"], found["latency"]))


if __name__ == "__main__":
    main()
