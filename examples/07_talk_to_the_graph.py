"""Join a running graph as one more node: read joint states, propose a motion, receive the verdict.

    openral deploy sim --robot franka_panda        # in one terminal
    python examples/07_talk_to_the_graph.py        # in another

It cannot move the robot itself: it publishes a *candidate*, which the kernel passes on or rejects.
"""

from __future__ import annotations

import os
from concurrent.futures import Future

import numpy as np

from openral import ControlMode, load_robot
from openral.ros import Executor, Node, msg
from openral.ros.qos import COMMAND, SENSOR, STATE


class Nudge(Node):
    """Proposes to turn the first joint by 0.1 rad over one second, once."""

    def __init__(self, robot_id: str) -> None:
        super().__init__("nudge")
        self.robot = load_robot(robot_id)
        self.trace_id: bytes | None = None
        self.verdict: Future[msg.Verdict] = Future()
        self.candidates = self.create_publisher(
            msg.ActionChunk, "/openral/candidate_action", COMMAND
        )
        self.create_subscription(msg.Verdict, "/openral/verdict", self.on_verdict, STATE)
        self.create_subscription(msg.JointState, "/joint_states", self.on_state, SENSOR)

    def on_state(self, state: msg.JointState) -> None:
        if self.trace_id is None and self.candidates.has_subscribers:
            measured = dict(zip(state.name, state.position, strict=True))
            start = np.array([measured[name] for name in self.robot.joint_names])
            rows = np.linspace(start, start + 0.1 * (np.arange(start.size) == 0), 21)[1:]
            mode = ControlMode.JOINT_POSITION.byte
            slot = msg.ActionSlot(control_mode=mode, width=rows.shape[1], data=rows.ravel())
            chunk = msg.ActionChunk(control_mode=mode, dt=0.05, rows=len(rows), slots=[slot])
            chunk.header.stamp = state.header.stamp  # the graph's time, simulated or not
            self.trace_id = os.urandom(16)
            chunk.trace_id = np.frombuffer(self.trace_id, np.uint8)
            self.candidates.publish(chunk)

    def on_verdict(self, verdict: msg.Verdict) -> None:
        if bytes(verdict.trace_id) == self.trace_id:
            self.verdict.set_result(verdict)


if __name__ == "__main__":
    node = Nudge("franka_panda")
    executor = Executor(node.context)
    executor.add_node(node)
    if executor.spin_until(node.verdict, timeout_s=30.0):
        print(f"{node.verdict.result().reason}: {node.verdict.result().detail}")
    executor.shutdown()
