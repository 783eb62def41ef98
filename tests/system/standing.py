"""A robot under its kernel that faults are done to, and a measure of how it comes to rest."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

from openral.graph import topics
from openral.graph.deadlines import SILENT_S
from tests.hal.node_rig import ACCEPTED, EXECUTING, HOLDING, STRICT, LiveGraph
from tests.ros.conftest import Graph, wait_until
from tests.system.graph import STILL, Observer
from tests.system.urgent import urgent

REST_WITHIN_S = 0.15
"""The promise: from a fault to standing still."""
NO_JUMP = 0.01
"""rad: a robot that is held or reset stays within this."""
LOST_S = 0.0 if STRICT else SILENT_S
"""Silence that simulated time waits for before a node counts as lost."""
JOINT = "shoulder_pan_joint"
FAST = 0.4
"""rad/s: in full motion."""


class Standing(LiveGraph):
    """HAL and kernel of a UR5e as processes of their own, without a supervisor; close it."""

    def __init__(self, graph: Graph, real_time: bool = STRICT) -> None:
        super().__init__(graph, "ur5e", real_time=real_time)
        self.observer = Observer(graph.domain)
        # Made beforehand: how soon the kernel gets to know a newcomer is not what is measured.
        self._stopper = self.node.create_client("openral_msgs/srv/EStop", topics.ESTOP)
        self.hal, self.kernel = self.start_both()

    def move(self, seconds: float = 3.0) -> None:
        """Has a long, fast motion accepted, and waits until it is in full swing."""
        self.arm()
        away = 0.4 * seconds if self.q[0] < self.robot.home_position[0] else -0.4 * seconds
        verdict = self.propose(self.swing(JOINT, away, seconds))
        assert verdict.status == ACCEPTED, verdict.detail
        wait_until(self.is_fast)

    def offer(self) -> None:
        """Proposes a motion, in vain if the robot must not move."""
        chunk = self.swing(JOINT, 0.3)
        chunk.header.stamp = self.node.stamp()
        self.candidates.publish(chunk)

    def is_fast(self) -> bool:
        return bool(self.state.state == EXECUTING and self.observer.poses[-1].speed > FAST)

    def wait_at_rest(self) -> None:
        wait_until(lambda: self.observer.poses[-1].speed < STILL)

    def rests_within(self, fault_s: float, limit_s: float = REST_WITHIN_S) -> float:
        """Waits for standstill and for a while after it; how long it took, within the limit."""
        self.wait_at_rest()
        time.sleep(0.4)
        return check_rest(self.observer, fault_s, limit_s)

    @contextlib.contextmanager
    def stands_still(self, seconds: float = 0.3) -> Iterator[None]:
        """Within, and for a moment after, no joint moves."""
        since = time.monotonic()
        yield
        time.sleep(seconds)
        drift = self.observer.drift_since(time.monotonic() - since)
        assert drift <= NO_JUMP, f"a joint moved by {drift:.4f} rad"

    def resets_without_a_jump(self) -> None:
        """Arms again; the robot stays where it is, and then moves as before."""
        with self.stands_still():
            self.arm()
        self.moves_again()

    def moves_again(self) -> None:
        """A motion is accepted and executed to its end."""
        self.arm()
        way = 0.05 if self.q[0] < self.robot.home_position[0] else -0.05
        goal = self.q[0] + way
        verdict = self.propose(self.swing(JOINT, way, 0.3))
        assert verdict.status == ACCEPTED, verdict.detail
        wait_until(lambda: abs(self.q[0] - goal) < NO_JUMP and self.state.state == HOLDING)

    def stop(self) -> float:
        """Calls for a stop, which is applied when the call returns; the moment of the call."""
        self._stopper.wait_for_service(20.0)
        request = self._stopper.request_class(source="operator", reason="now")
        with urgent():
            at = time.monotonic()
            answering = self._stopper.call_async(request)
        answer = answering.result(30.0)
        assert answer.applied, answer.message
        return at

    def frozen(self, process: Any, seconds: float) -> tuple[float, float]:
        """SIGSTOP until its loss has been noticed for a while; when it froze and went on."""
        began = self.signal(process, signal.SIGSTOP)
        time.sleep(LOST_S + seconds)
        return began, self.signal(process, signal.SIGCONT)

    def signal(self, process: Any, number: signal.Signals) -> float:
        """Sends a signal; the moment at which it was sent."""
        with urgent():
            now = time.monotonic()
            os.kill(process.pid, number)
        return now

    def close(self) -> None:
        self.observer.close()
        super().close()


def check_rest(observer: Observer, fault_s: float, limit_s: float = REST_WITHIN_S) -> float:
    """How long the robot went on moving after a fault; fails beyond the limit."""
    took = observer.motion_after(fault_s)
    print(f"at rest after {took * 1e3:.0f} ms")
    assert took <= limit_s, f"it moved for {took:.3f} s after the fault"
    return took


def eventually(condition: Callable[[], Any]) -> Any:
    return wait_until(condition, 60.0)
