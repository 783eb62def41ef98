"""What the tests of the kernel node share: the process, and the graph around it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from openral.graph import topics
from openral.graph.run_key import RunKey
from openral.graph.seal import Gatekeeper
from openral.graph.sealed import SealedPublisher
from openral.manifest import ControlMode, load_robot
from openral.manifest.kinematics import Kinematics
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.node.node_clock import CLOCK_TYPE
from openral.ros.qos import QoS
from openral.ros.stamps import time_message
from tests.hal.chunks import chunk, joint_chunk, slot
from tests.ros.conftest import Graph, wait_until

ROBOT = load_robot("franka_panda")
HOME = np.array(ROBOT.home_position)
PLUNGE = np.array([*(HOME[:7] + 3.0), HOME[7]])
MSGS = "openral_msgs/msg"
IDLE, ARMED, ESTOPPED, RECOVERY = range(4)
ACCEPTED, SLOWED, REJECTED, DROPPED = range(4)


class Rig:
    """A robot that says where it is, proposers, an ear on everything, and kernel processes."""

    def __init__(self, graph: Graph, simulated: bool = False) -> None:
        self.graph = graph
        self.key = RunKey.create()
        self.ticking, self.sim_ns = simulated, 10 * NS
        self.simulated = simulated
        if simulated:
            clock = graph.node("simulator")
            self._clock = SealedPublisher(
                clock.create_publisher, self.key, CLOCK_TYPE, "/clock", QoS(depth=1)
            )
            clock.create_wall_timer(0.01, self._tick)
        self.node = graph.node("robot", parameters={"use_sim_time": simulated})
        self.gatekeeper = Gatekeeper(self.key, self.node.now)
        self.q, self.qd = HOME.copy(), np.zeros(HOME.size)
        self.speaking = True
        self.processes: list[subprocess.Popen[bytes]] = []
        self.states: list[Any] = []
        self.safe: list[bytes] = []
        self.verdicts: list[Any] = []
        self.failures: list[Any] = []
        self.events: list[Any] = []
        make, hear = self.node.create_publisher, self.node.create_subscription
        self._joints = self.sealed("sensor_msgs/msg/JointState", topics.JOINT_STATES, topics.SENSOR)
        self.candidates = make(f"{MSGS}/ActionChunk", topics.CANDIDATE, topics.COMMAND)
        self.world = make(f"{MSGS}/WorldCollision", topics.WORLD, topics.LATCHED)
        hear(f"{MSGS}/SafeAction", topics.SAFE_ACTION, self.safe.append, topics.COMMAND, raw=True)
        hear(f"{MSGS}/SafetyState", topics.SAFETY_STATE, self.states.append, topics.LATCHED)
        hear(f"{MSGS}/Verdict", topics.VERDICT, self.verdicts.append, 100)
        hear(f"{MSGS}/FailureTrigger", topics.FAILURE, self.failures.append, 100)
        hear(f"{MSGS}/EStopEvent", topics.ESTOP, self.events.append, topics.COMMAND)
        self.node.create_wall_timer(0.02, self._speak)

    def sealed(self, kind: str, topic: str, qos: QoS) -> SealedPublisher:
        """A topic of the run's own nodes."""
        return SealedPublisher(self.node.create_publisher, self.key, kind, topic, qos)

    def start(
        self, *parameters: str, robot: Path | str = "franka_panda"
    ) -> subprocess.Popen[bytes]:
        with self.key.lent() as loan:
            given = [f"robot_yaml={robot}", f"use_sim_time={self.simulated}", *parameters]
            process = subprocess.Popen(
                [sys.executable, "-m", "openral.safety", "--autostart", *given],
                env={**os.environ, "OPENRAL_DOMAIN": str(self.graph.domain), **loan.environment},
                pass_fds=loan.fds,
                stderr=subprocess.DEVNULL,
            )
        self.processes.append(process)
        return process

    def _tick(self) -> None:
        if self.ticking:
            self.sim_ns += NS // 100
            stamp = time_message(self.sim_ns)
            self._clock.publish(types.new("rosgraph_msgs/msg/Clock", clock=stamp))

    def start_ready(
        self, *parameters: str, robot: Path | str = "franka_panda"
    ) -> subprocess.Popen[bytes]:
        """A kernel that is connected to everything, and not armed."""
        process = self.start(*parameters, robot=robot)
        wait_until(lambda: self.candidates.has_subscribers and self._joints.has_subscribers)
        wait_until(lambda: self.states)
        return process

    def start_armed(
        self, *parameters: str, robot: Path | str = "franka_panda"
    ) -> subprocess.Popen[bytes]:
        process = self.start_ready(*parameters, robot=robot)
        self.arm()
        return process

    def arm(self) -> None:
        wait_until(lambda: self.trigger(topics.RESET).success)
        wait_until(lambda: self.state.state == ARMED)

    @property
    def state(self) -> Any:
        return self.states[-1]

    def _speak(self) -> None:
        if self.speaking:
            self._joints.publish(
                types.new(
                    "sensor_msgs/msg/JointState",
                    header=self.header(),
                    name=ROBOT.joint_names,
                    position=self.q,
                    velocity=self.qd,
                )
            )

    def header(self, frame: str = "", stamp_ns: int | None = None) -> Any:
        stamp = time_message(self.node.now() if stamp_ns is None else stamp_ns)
        return types.new("std_msgs/msg/Header", stamp=stamp, frame_id=frame)

    def stay(self, sequence: int = 1) -> Any:
        """A proposal to stay where we are."""
        made = joint_chunk([self.q] * 3, sequence=sequence)
        made.header = self.header()
        return made

    def plunge(self) -> Any:
        """A proposal that no robot survives."""
        made = joint_chunk([PLUNGE] * 3, sequence=66)
        made.header = self.header()
        return made

    def moved(self, mode: ControlMode, row: list[float], rows: int, dt: float) -> Any:
        """A proposal of equal rows."""
        made = chunk(slot(mode, [row] * rows), dt=dt, sequence=5)
        made.header = self.header()
        return made

    def balls(self, *centres: Any) -> None:
        """Tells of balls in the way."""
        seen = types.new(f"{MSGS}/WorldCollision", header=self.header(ROBOT.base_frame))
        for number, centre in enumerate(centres):
            ball = types.new(
                f"{MSGS}/CollisionPrimitive", id=f"ball{number}", size=np.array([0.05, 0.0, 0.0])
            )
            ball.pose.position.x, ball.pose.position.y, ball.pose.position.z = centre
            seen.primitives.append(ball)
        self.world.publish(seen)

    def propose(self, made: Any) -> Any:
        """Sends a proposal and waits for the verdict on it."""
        heard = len(self.verdicts)
        self.candidates.publish(made)
        wait_until(lambda: len(self.verdicts) > heard)
        return self.verdicts[-1]

    def call(self, kind: str, name: str, **fields: Any) -> Any:
        client = self.node.create_client(kind, name)
        try:
            return client.call(client.request_class(**fields), 20.0)
        finally:
            self.node.destroy_client(client)

    def trigger(self, name: str) -> Any:
        return self.call("std_srvs/srv/Trigger", name)

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def hand() -> Any:
    """Where the hand is at home."""
    kinematics = Kinematics(ROBOT)
    return kinematics.poses(HOME)[kinematics.links.index(ROBOT.end_effectors[0].link)][:3, 3]
