"""A node with one of everything, for tests that need a second process."""

from __future__ import annotations

import sys
import time
from concurrent.futures import Future
from typing import Any

from openral.ros.actions.server import ActionServer
from openral.ros.codec import types
from openral.ros.lifecycle.machine import Outcome, State
from openral.ros.lifecycle.node import LifecycleNode
from openral.ros.node.executor import spin
from openral.ros.parameters.store import Descriptor
from openral.ros.qos import LATCHED

SKILL = "openral_msgs/action/ExecuteSkill"


class Peer(LifecycleNode):
    def __init__(self) -> None:
        super().__init__("peer")
        self.declare_parameter("speed", 1.5, Descriptor(minimum=0.0, maximum=2.0))
        self.declare_parameter("serial", "A1", Descriptor(read_only=True))
        self.create_service("std_srvs/srv/SetBool", "~/negate", self._negate)
        self.create_service("std_srvs/srv/Trigger", "~/never", lambda request, response: Future())
        ActionServer(self, SKILL, "~/count", _count, accept=lambda g: g.seed < 1000)
        greeting = self.create_publisher("std_msgs/msg/String", "~/greeting", LATCHED)
        greeting.publish(types.new("std_msgs/msg/String", data="hello"))

    def on_configure(self, previous: State) -> Outcome:
        self.log.info("configured")
        return Outcome.SUCCESS

    def on_shutdown(self, previous: State) -> Outcome:
        print(f"shut down from {previous.label}", flush=True)
        return Outcome.SUCCESS

    @staticmethod
    def _negate(request: Any, response: Any) -> Any:
        response.success, response.message = not request.data, "negated"
        return response


def _count(goal: Any) -> Any:
    for at in range(goal.request.seed):
        if goal.is_cancel_requested:
            goal.canceled()
            return types.new(f"{SKILL}_Result", chunks=at)
        goal.publish_feedback(types.new(f"{SKILL}_Feedback", chunks=at))
        time.sleep(0.01)
    goal.succeed()
    return types.new(f"{SKILL}_Result", chunks=goal.request.seed)


node = Peer()


def tell() -> None:
    """Only a node that spins catches signals."""
    print("ready", flush=True)
    node.destroy_timer(timer)


timer = node.create_timer(0.001, tell)
spin(node)
print("left cleanly", flush=True)
sys.exit(0)
