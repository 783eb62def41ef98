"""A whole graph as a user starts it, an observer beside it, and a measure of standing still."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from openral.graph import topics
from openral.manifest.library import robot_path
from openral.ros.clock import NS
from openral.ros.node.context import Context
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.qos import CLOCK, QoS
from openral.ros.transport.dds_config import Network
from tests.deploy.small_graph import alive, family
from tests.hal.node_rig import STRICT
from tests.ros.conftest import wait_until
from tests.system.urgent import urgent

OPENRAL = Path(sys.executable).with_name("openral")
ARMED, ESTOPPED = 1, 2
STOPPED = 2
MODULES = {
    "hal": "openral.hal",
    "safety_kernel": "openral.safety",
    "world": "openral.world",
    "skill_runner": "openral.skill",
    "recorder": "openral.deploy.recorder",
}
STILL = 0.02
"""rad/s or m/s: slower than this counts as standing."""
MOVING = 0.1
DEADLINES = ("--real-time",) if STRICT else ()
"""How graphs are started that faults are done to: see STRICT."""
repeated = pytest.mark.parametrize("repetition", range(int(os.environ.get("OPENRAL_SOAK", "1"))))
"""How often each fault is tried; `make soak` asks for 20."""
_MSGS = "openral_msgs/msg"


def blind_robot(robot: str, folder: Path) -> str:
    """A shipped robot without sensors, for tests that need no pictures drawn; its manifest."""
    described = yaml.safe_load(robot_path(robot).read_text())
    described.pop("sensors", None)
    path = folder / robot / "robot.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(described))
    return str(path)


def shared_memory(pids: Iterable[int]) -> set[str]:
    """Files of shared memory that processes have mapped."""
    found = set()
    for pid in pids:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place = line.split(maxsplit=5)[5:]
            if place and place[0].startswith("/dev/shm/"):
                found.add(place[0].removesuffix(" (deleted)"))
    return found


@dataclass(frozen=True)
class Pose:
    """One joint state as the simulator measured it, and when it was heard."""

    heard_s: float
    stamp_ns: int
    q: Any
    speed: float


class Observer:
    """A node that hears all that the tests ask about."""

    def __init__(self, domain: int) -> None:
        with urgent():
            self._begin(domain)

    def _begin(self, domain: int) -> None:
        self.context = Context(Network(domain))
        self.node = Node("observer", context=self.context)
        self.poses: list[Pose] = []
        self.heard: dict[str, list[Any]] = {}
        keep = QoS(depth=1000)
        self._ticks: list[tuple[float, int]] = []
        hear = self.node.create_subscription
        hear("sensor_msgs/msg/JointState", topics.JOINT_STATES, self._pose, topics.SENSOR)
        hear("rosgraph_msgs/msg/Clock", "/clock", self._tick, CLOCK)
        self.hear(f"{_MSGS}/SafetyState", topics.SAFETY_STATE, topics.LATCHED)
        self.hear(f"{_MSGS}/HalState", topics.HAL_STATE, topics.SENSOR)
        self.hear(f"{_MSGS}/Verdict", topics.VERDICT, keep)
        self.hear(f"{_MSGS}/EStopEvent", topics.ESTOP, keep)
        self.executor = Executor(self.context)
        self.executor.add_node(self.node)
        self.executor.start()

    def hear(self, kind: str, topic: str, qos: Any) -> list[Any]:
        kept = self.heard.setdefault(topic, [])
        self.node.create_subscription(kind, topic, kept.append, qos)
        return kept

    def _pose(self, state: Any) -> None:
        stamp = state.header.stamp.sec * NS + state.header.stamp.nanosec
        speed = float(np.abs(state.velocity).max(initial=0.0))
        self.poses.append(Pose(time.monotonic(), stamp, np.array(state.position), speed))

    def _tick(self, message: Any) -> None:
        stamp = message.clock.sec * NS + message.clock.nanosec
        self._ticks.append((time.monotonic(), stamp))

    @property
    def safety(self) -> Any:
        states = self.heard[topics.SAFETY_STATE]
        return states[-1] if states else None

    @property
    def hal(self) -> Any:
        states = self.heard[topics.HAL_STATE]
        return states[-1] if states else None

    def call(self, kind: str, name: str, **fields: Any) -> Any:
        client = self.node.create_client(kind, name)
        try:
            return client.call(client.request_class(**fields), 20.0)
        finally:
            self.node.destroy_client(client)

    def trigger(self, name: str) -> Any:
        return self.call("std_srvs/srv/Trigger", name)

    def motion_after(self, fault_s: float) -> float:
        """Seconds from a fault (monotonic time) to the last measured state that still moved.

        By the simulator's stamps, from the last one heard before the fault; or by real time, from
        the fault to when that state was heard. Either is an upper bound of the truth and the lower
        one is told: a busy machine delays what is heard, and a simulation that was held up makes
        its time go faster than real time for a moment.
        """
        poses = list(self.poses)
        before = [pose for pose in poses if pose.heard_s <= fault_s]
        moving = [pose for pose in poses if pose.heard_s > fault_s and pose.speed > STILL]
        assert before, "nothing was heard before the fault"
        if not moving:
            return 0.0
        last, base = moving[-1], self._latest_stamp(before[-1], fault_s)
        return max(0.0, min((last.stamp_ns - base) / NS, last.heard_s - fault_s))

    def _latest_stamp(self, pose: Pose, until_s: float) -> int:
        """Of the last state before a moment, or of the clock since, whoever else tells a time."""
        base = pose.stamp_ns
        for heard_s, stamp in list(self._ticks):
            if pose.heard_s <= heard_s <= until_s and 0 < stamp - pose.stamp_ns < NS // 10:
                base = max(base, stamp)
        return base

    def drift_since(self, seconds: float) -> float:
        """The largest move of a joint within the last real seconds."""
        since = time.monotonic() - seconds
        recent = np.array([pose.q for pose in list(self.poses) if pose.heard_s > since])
        return float(np.ptp(recent, axis=0).max()) if len(recent) else 0.0

    def close(self) -> None:
        self.executor.shutdown()
        self.context.close()


class Deployment:
    """`openral deploy sim ... --json` in a domain of its own; `run` for real robots."""

    def __init__(
        self,
        domain: int,
        *arguments: str,
        environment: dict[str, str] | None = None,
        command: str = "sim",
        stderr: int = subprocess.PIPE,
        through: tuple[str, ...] = (),
    ) -> None:
        """`through`: a program that starts it."""
        self.domain = domain
        self.lines: list[str] = []
        self.observer = Observer(domain)
        self.started_s = time.monotonic()
        self.process = subprocess.Popen(
            [*through, str(OPENRAL), "deploy", command, *arguments, "--json"],
            env={**(environment or os.environ), "OPENRAL_DOMAIN": str(domain)},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stderr or ():
            self.lines.append(line.rstrip())

    def until(self, condition: Callable[[], Any], timeout_s: float = 180.0) -> Any:
        """Waits while the graph lives."""

        def look() -> Any:
            value = condition()
            assert value or self.process.poll() is None, "\n".join(self.lines)
            return value

        return wait_until(look, timeout_s)

    def wait_armed(self) -> None:
        self.until(lambda: self.observer.safety and self.observer.safety.state == ARMED)

    def wait_moving(self) -> None:
        """Until the robot has been seen to move."""
        self.until(lambda: self.observer.poses and self.observer.poses[-1].speed > MOVING)

    def pid(self, node: str) -> int:
        """The process of a node."""
        for pid in family(self.process.pid):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            if "openral.deploy.launch" in words and MODULES[node] in words:
                return pid
        raise AssertionError(f"no process of {node}")

    @property
    def members(self) -> set[int]:
        """The supervisor and everything that it started."""
        return family(self.process.pid)

    def signal(self, node: str, number: signal.Signals) -> float:
        """Sends a signal to a node; the moment at which it was sent."""
        pid = self.pid(node)
        with urgent():
            now = time.monotonic()
            os.kill(pid, number)
        return now

    def end(self, timeout_s: float = 180.0) -> dict[str, Any]:
        """Waits for the end; the summary, with the exit code beside it."""
        assert self.process.stdout is not None
        text = self.process.stdout.read()
        self.process.wait(timeout_s)
        self._reader.join(5.0)
        return {**(json.loads(text) if text else {}), "returncode": self.process.returncode}

    def interrupt(self) -> dict[str, Any]:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.end()

    def close(self) -> None:
        members = self.members
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10.0)
            except subprocess.TimeoutExpired:
                self.process.kill()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                self._reader.join(5.0)
                stream.close()
        wait_until(lambda: not [pid for pid in members if alive(pid)])
        self.observer.close()
