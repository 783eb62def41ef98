"""What the tests of the HAL's node share: HAL and kernel processes, and an ear on the graph."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from openral.graph import topics
from openral.graph.run_key import RunKey
from openral.graph.time_lease import LeaseHolder
from openral.hal import topics as hal_topics
from openral.manifest import load_robot
from openral.ros.priority import priority_hint
from tests.hal.chunks import joint_chunk
from tests.ros.conftest import Graph, wait_until

MSGS = "openral_msgs/msg"
IDLE, ARMED, ESTOPPED, RECOVERY = range(4)
HOLDING, EXECUTING, STOPPED = range(3)
ACCEPTED, REJECTED = 0, 2
STRICT = not priority_hint()
"""Whether wall-clock deadlines can be kept here: not without real-time priority.

Tests of faults then run where simulated time waits: with the same assertions, but a node counts as
lost after ten seconds of wall time instead of after its deadline.
"""
needs_deadlines = pytest.mark.skipif(
    not STRICT, reason="hardware's deadlines need real-time priority: allow it (ulimit -r)"
)
_LEASE_S = 0.1


class LiveGraph:
    """Starts the two processes of the gate for one robot, and hears and proposes.

    Simulated time waits for slow nodes and for this one, so that a busy machine costs nothing but
    time; with `real_time` nobody waits, and deadlines are wall-clock ones.
    """

    def __init__(
        self, graph: Graph, robot: str, sim_time: bool = True, real_time: bool = False
    ) -> None:
        self.graph, self.robot, self.robot_ref = graph, load_robot(robot), robot
        self.real_time = real_time
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
        self._proposing = False
        self._lease = LeaseHolder(self.node, _LEASE_S)
        for make in (self.node.create_wall_timer, self.node.create_timer):
            make(0.02, self._keep_up)

    def _keep_up(self) -> None:
        """Has simulated time wait for this node, and while a proposal is on its way."""
        if not self._proposing:
            self._lease.extend()

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
            if self.real_time and module != "openral.world":
                given.append("real_time=true")
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
        """Resets as an operator does: when the kernel can be armed, and once."""
        if self.safety.state != ARMED:
            wait_until(lambda: self.trigger(topics.RESET).success, 60.0)
        wait_until(lambda: self.safety.state == ARMED and self.state.state != STOPPED, 60.0)

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
        verdicts, trace = self.heard[topics.VERDICT], os.urandom(16)
        before = len(verdicts)
        chunk.trace_id = np.frombuffer(trace, np.uint8)
        self._proposing = True

        def mine() -> list[Any]:
            return [verdict for verdict in verdicts[before:] if bytes(verdict.trace_id) == trace]

        try:
            chunk.header.stamp = self.node.stamp()
            self.candidates.publish(chunk)
            return wait_until(mine)[0]
        finally:
            self._proposing = False

    def swing(self, joint: str, by: float, seconds: float = 1.0, sequence: int = 7) -> Any:
        """A chunk that moves one joint, slow enough for any robot."""
        dt = max(0.02, seconds / 250)
        rows = round(seconds / dt)
        path = np.repeat(self.q[None], rows, axis=0)
        share = np.arange(1, rows + 1) / rows
        smooth = share**3 * (10 - 15 * share + 6 * share**2)
        path[:, self.robot.joint_names.index(joint)] += by * smooth
        return joint_chunk(path, dt=dt, sequence=sequence)

    def under_way(self, joint: str, by: float, seconds: float, fast: float = 0.05) -> Any:
        """Has a motion accepted, and waits until it is executed; the verdict on it."""
        self.arm()
        sequence, states = self.safety.sequence + 1, self.heard[topics.HAL_STATE]
        seen = len(states)
        verdict = self.propose(self.swing(joint, by, seconds))
        assert verdict.status == ACCEPTED, verdict.detail

        def executed(state: Any) -> bool:
            moves = state.state == EXECUTING and state.row > 0 and state.fastest_joint >= fast
            return bool(moves and state.sequence >= sequence)

        wait_until(lambda: any(map(executed, states[seen:])) or self.safety.state != ARMED, 60.0)
        assert self.safety.state == ARMED, self.safety.detail
        return verdict

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
def live_graph(
    domain: int, robot: str, sim_time: bool = True, real_time: bool = False
) -> Iterator[LiveGraph]:
    """Leaves nothing running, whatever happens."""
    graph = Graph(domain)
    made = LiveGraph(graph, robot, sim_time, real_time)
    try:
        yield made
    finally:
        made.close()
        graph.close()
