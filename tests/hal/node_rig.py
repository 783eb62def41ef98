"""What the tests of the HAL's node share: HAL and kernel processes, and an ear on the graph."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from openral.hal import topics as hal_topics
from openral.manifest import load_robot
from openral.safety import topics
from openral.safety.run_key import RunKey
from tests.hal.chunks import joint_chunk
from tests.ros.conftest import Graph, wait_until

MSGS = "openral_msgs/msg"
IDLE, ARMED, ESTOPPED, RECOVERY = range(4)
HOLDING, EXECUTING, STOPPED = range(3)
REJECTED = 2


class LiveGraph:
    """Starts the two processes of the gate for one robot, and hears and proposes."""

    def __init__(self, graph: Graph, robot: str, sim_time: bool = True) -> None:
        self.graph, self.robot, self.robot_ref = graph, load_robot(robot), robot
        self.key = RunKey.create()
        self.node = graph.node("ear", apart=True, parameters={"use_sim_time": sim_time})
        self.processes: list[subprocess.Popen[bytes]] = []
        self.heard: dict[str, list[Any]] = {}
        self.sim_time = sim_time
        self.ears: list[Any] = []
        hear = self.hear
        hear("sensor_msgs/msg/JointState", topics.JOINT_STATES, topics.SENSOR)
        hear(f"{MSGS}/HalState", topics.HAL_STATE, topics.STATE)
        hear(f"{MSGS}/SafetyState", topics.SAFETY_STATE, topics.LATCHED)
        hear(f"{MSGS}/Verdict", topics.VERDICT, topics.STATE)
        hear(f"{MSGS}/AppliedAction", hal_topics.APPLIED, topics.STATE)
        hear(f"{MSGS}/EStopEvent", topics.ESTOP, topics.COMMAND)
        hear(f"{MSGS}/FailureTrigger", hal_topics.FAILURE, topics.STATE)
        self.candidates = self.node.create_publisher(
            f"{MSGS}/ActionChunk", topics.CANDIDATE, topics.COMMAND
        )

    def hear(self, kind: str, topic: str, qos: Any) -> list[Any]:
        kept = self.heard.setdefault(topic, [])
        self.ears.append(self.node.create_subscription(kind, topic, kept.append, qos))
        return kept

    def latest(self, topic: str) -> Any:
        return wait_until(lambda: self.heard[topic])[-1]

    def start(self, module: str, *parameters: str, autostart: bool = True) -> Any:
        with self.key.lent() as loan:
            flags = ["--autostart"] if autostart else []
            given = [f"robot_yaml={self.robot_ref}", *parameters]
            process = subprocess.Popen(
                [sys.executable, "-m", module, *flags, *given],
                env={**os.environ, "OPENRAL_DOMAIN": str(self.graph.domain), **loan.environment},
                pass_fds=loan.fds,
            )
        self.processes.append(process)
        return process

    def start_hal(self, *parameters: str, **options: Any) -> Any:
        return self.start("openral.hal", *parameters, **options)

    def start_kernel(self, *parameters: str) -> Any:
        return self.start("openral.safety", f"use_sim_time={self.sim_time}", *parameters)

    def start_both(self, *hal_parameters: str) -> tuple[Any, Any]:
        """A HAL and a kernel that are connected to each other, not armed."""
        hal = self.start_hal(*hal_parameters)
        wait_until(lambda: self.heard[topics.JOINT_STATES], 60.0)
        kernel = self.start_kernel()
        wait_until(lambda: self.heard[topics.SAFETY_STATE], 60.0)
        wait_until(lambda: self.candidates.has_subscribers)
        wait_until(lambda: all(ear.publisher_count for ear in self.ears))
        return hal, kernel

    def arm(self) -> None:
        """Resets until it lasts: an event may come late, and a busy machine loses a heartbeat."""

        def armed() -> bool:
            if self.safety.state != ARMED:
                self.trigger(topics.RESET)
            time.sleep(0.1)
            return bool(self.safety.state == ARMED and self.state.state != STOPPED)

        wait_until(armed, 60.0)

    def trigger(self, name: str) -> Any:
        return self.call("std_srvs/srv/Trigger", name)

    def call(self, kind: str, name: str, **fields: Any) -> Any:
        client = self.node.create_client(kind, name)
        try:
            client.wait_for_service(20.0)
            return client.call(client.request_class(**fields), 30.0)
        finally:
            self.node.destroy_client(client)

    @property
    def state(self) -> Any:
        return self.latest(topics.HAL_STATE)

    @property
    def safety(self) -> Any:
        return self.latest(topics.SAFETY_STATE)

    @property
    def q(self) -> Any:
        """Positions in the manifest's order."""
        joints = self.latest(topics.JOINT_STATES)
        return np.array([joints.position[joints.name.index(n)] for n in self.robot.joint_names])

    @property
    def speed(self) -> float:
        return float(self.state.fastest_joint)

    def propose(self, chunk: Any) -> Any:
        """Sends a proposal, stamped now, and returns the verdict on it."""
        verdicts = self.heard[topics.VERDICT]
        before = len(verdicts)
        chunk.header.stamp = self.node.stamp()
        self.candidates.publish(chunk)
        wait_until(lambda: len(verdicts) > before)
        return verdicts[-1]

    def swing(self, joint: str, by: float, seconds: float = 1.0, sequence: int = 7) -> Any:
        """A chunk that moves one joint, slow enough for any robot."""
        rows = round(seconds / 0.02)
        path = np.repeat(self.q[None], rows, axis=0)
        share = np.arange(1, rows + 1) / rows
        smooth = share**3 * (10 - 15 * share + 6 * share**2)
        path[:, self.robot.joint_names.index(joint)] += by * smooth
        return joint_chunk(path, dt=0.02, sequence=sequence)

    def under_way(self, joint: str, by: float, seconds: float, fast: float = 0.05) -> None:
        """Has a motion accepted that is then executed; again if a busy machine gets in between."""

        def executed(sequence: int) -> bool:
            give_up = time.monotonic() + 3.0
            while time.monotonic() < give_up:
                state = self.state
                executing = state.sequence >= sequence and state.state == EXECUTING
                if executing and state.row > 0 and self.speed >= fast:
                    return True
                if self.safety.state != ARMED:
                    return False
                time.sleep(0.005)
            return False

        def attempt() -> bool:
            if self.safety.state != ARMED:
                self.arm()
            before = self.safety.sequence
            verdict = self.propose(self.swing(joint, by, seconds))
            assert verdict.status != REJECTED, verdict.detail
            return verdict.status == 0 and executed(before + 1)

        wait_until(attempt, 60.0)

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            if process.poll() is None:
                process.kill()
                process.wait()


@contextlib.contextmanager
def live_graph(domain: int, robot: str, sim_time: bool = True) -> Iterator[LiveGraph]:
    """Leaves nothing running, whatever happens."""
    graph = Graph(domain)
    made = LiveGraph(graph, robot, sim_time)
    try:
        yield made
    finally:
        made.close()
        graph.close()
