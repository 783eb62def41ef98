"""A managed node that can be told to misbehave: `name=value` words as its parameters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

from openral.errors import ConfigError
from openral.ros import Outcome, State, spin
from openral.ros.codec import types
from openral.ros.lifecycle.node import LifecycleNode
from openral.ros.lifecycle.program import given_parameters

NAMES = ("name", "fault", "use_sim_time")


class SmallNode(LifecycleNode):
    def __init__(self, name: str, fault: str) -> None:
        super().__init__(name)
        self.fault = fault
        self.declare_parameter("clock", "wall")
        self._pulse = self.create_publisher("std_msgs/msg/String", f"/{name}/pulse")

    def on_configure(self, previous: State) -> Outcome:
        if self.fault == "refuse":
            raise ConfigError("there is no robot here")
        if self.fault == "die_early":
            os._exit(3)
        return Outcome.SUCCESS

    def on_activate(self, previous: State) -> Outcome:
        self.create_wall_timer(0.02, self._beat)
        if self.fault == "die":
            self.create_wall_timer(0.5, lambda: os.kill(os.getpid(), signal.SIGKILL))
        if self.fault == "stop":
            self.create_wall_timer(0.5, lambda: os.kill(os.getpid(), signal.SIGSTOP))
        if self.fault == "hang":
            self.create_wall_timer(0.5, lambda: time.sleep(1000))
        if self.fault == "chatter":
            self.create_wall_timer(0.001, lambda: print("x" * 2000, flush=True))
        if self.fault == "family":
            self.helper = subprocess.Popen(["sleep", "1000"])
        print(f"active as {os.getpid()}", flush=True)
        return Outcome.SUCCESS

    def _beat(self) -> None:
        self._pulse.publish(types.new("std_msgs/msg/String", data="alive"))

    def on_shutdown(self, previous: State) -> Outcome:
        if self.fault == "cling":
            time.sleep(1000)
        print("ended in order", flush=True)
        return Outcome.SUCCESS


def main() -> None:
    given: dict[str, Any] = given_parameters(sys.argv[1:], NAMES)
    spin(SmallNode(given["name"], given.get("fault", "")))


if __name__ == "__main__":
    main()
