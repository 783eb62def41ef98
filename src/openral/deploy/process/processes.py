"""Processes: starts all processes of a graph together and ends all of them in order."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from openral.deploy.plan import LaunchPlan
from openral.deploy.process.child import Child
from openral.deploy.process.log_stream import LogStream
from openral.graph.run_key import KEY_VARIABLE, RunKey
from openral.ros.transport.dds_config import Network
from openral.undumpable import make_undumpable


class Processes:
    """Create it on the main thread: children die with the thread that created them."""

    def __init__(
        self,
        plan: LaunchPlan,
        logs: LogStream,
        network: Network,
        on_change: Callable[[Child], None],
    ) -> None:
        """`on_change` is called on a separate thread when a child has ended or was stopped."""
        make_undumpable()
        self.key = key = RunKey.create()
        # A real HAL releases its motors in order, even when its supervisor was killed.
        gentle = signal.SIGTERM if plan.options.mode == "real" else signal.SIGKILL
        self.children: list[Child] = []
        environment = _environment(network)
        for spec in plan.nodes:
            parting = gentle if spec.name == "hal" else signal.SIGKILL
            child = Child(spec, key, logs, environment, on_change, parting)
            self.children.append(child)

    def end(self) -> list[str]:
        """Ends all, the recorder last; returns the names of those that had to be killed."""
        last = [child for child in self.children if not child.spec.critical]
        rest = [child for child in self.children if child.spec.critical]
        killed = _end(rest) + _end(last)
        self.kill()
        return killed

    def kill(self) -> None:
        """Kills all process groups at once."""
        for child in self.children:
            child.kill()
        for child in self.children:
            child.ended.wait(1.0)


def _end(children: list[Child]) -> list[str]:
    for child in reversed(children):
        child.ask_to_end()
    began = time.monotonic()
    killed = []
    for child in sorted(children, key=lambda child: child.spec.end_s):
        if not child.ended.wait(max(0.0, began + child.spec.end_s - time.monotonic())):
            killed.append(child.spec.name)
            child.kill()
    return killed


def _environment(network: Network) -> dict[str, str]:
    interface = "" if network.is_local else network.interface or "auto"
    inherited = {name: text for name, text in os.environ.items() if name != KEY_VARIABLE}
    return {
        **inherited,
        "OPENRAL_DOMAIN": str(network.domain),
        "OPENRAL_NETWORK": interface,
        "PYTHONUNBUFFERED": "1",
    }
