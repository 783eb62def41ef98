"""The supervisor believes its own kernel and HAL alone, whoever else speaks on their topics."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from openral.deploy.graph_link import GraphLink
from openral.deploy.monitor import Monitor
from openral.deploy.plan import NodeSpec, Pulse
from openral.graph import topics
from openral.graph.run_key import RunKey
from openral.graph.sealed import SealedPublisher
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.node.node import Node
from openral.ros.node.node_clock import CLOCK_TYPE
from openral.ros.parameters.store import Parameter
from openral.ros.qos import CLOCK
from openral.ros.stamps import time_message
from openral.ros.transport.dds_config import Network
from tests.ros.conftest import Graph, domain, graph, wait_until  # noqa: F401 - fixtures

MSGS = "openral_msgs/msg"
ARMED, ESTOPPED, STOPPED = 1, 2, 2
PULSE = Pulse(topics.SAFETY_STATE, f"{MSGS}/SafetyState", topics.LATCHED, 0.5)
KERNEL = NodeSpec("safety_kernel", "openral.safety", {}, gets_key=True, pulse=PULSE)


class Speaker:
    """Says what a kernel, a HAL or a clock says, with one key."""

    def __init__(self, node: Node, key: RunKey) -> None:
        make = node.create_publisher
        self._safety = SealedPublisher(make, key, PULSE.type_name, PULSE.topic, PULSE.qos)
        kind = f"{MSGS}/HalState"
        self._hal = SealedPublisher(make, key, kind, topics.HAL_STATE, topics.SENSOR)
        self._clock = SealedPublisher(make, key, CLOCK_TYPE, "/clock", CLOCK)

    def says(self, state: int, hal: int, seconds: float) -> None:
        self._safety.publish(msg.SafetyState(state=state, source="x", reason="y"))
        self._hal.publish(msg.HalState(state=hal))
        self._clock.publish(msg.Clock(clock=time_message(round(seconds * NS))))


def keep(condition: Callable[[], Any], say: Callable[[], None]) -> None:
    def look() -> Any:
        say()
        return condition()

    wait_until(look)


def test_forged_states_stops_and_times_are_not_believed(graph: Graph) -> None:  # noqa: F811
    key = RunKey.create()
    link = GraphLink(Network(graph.domain), [], lambda: None, key)
    link.node.set_parameters([Parameter("use_sim_time", True)])
    try:
        monitor, clock = link.monitor, link.node.clock
        own = Speaker(graph.node("own", apart=True), key)
        other = Speaker(graph.node("other", apart=True), RunKey.create())
        keep(lambda: monitor.armed and clock.ready, lambda: own.says(ARMED, 0, 5.0))
        for number in range(100):
            other.says(ESTOPPED, STOPPED, 100.0 + number)
            time.sleep(0.005)
        time.sleep(0.2)
        assert monitor.armed
        assert monitor.estops == 0
        assert not monitor.is_stopped
        assert link.node.now() == 5 * NS
        keep(lambda: monitor.is_stopped, lambda: own.says(ESTOPPED, STOPPED, 6.0))
        assert monitor.estops == 1
    finally:
        link.close()


def test_a_forged_pulse_does_not_hide_a_kernel_that_hangs(graph: Graph) -> None:  # noqa: F811
    key = RunKey.create()
    node = graph.node("watcher", apart=True)
    monitor = Monitor(node, [], key)
    monitor.watch(KERNEL, None)  # type: ignore[arg-type] - asked only if it had no pulse
    own = Speaker(graph.node("own", apart=True), key)
    other = Speaker(graph.node("other", apart=True), RunKey.create())
    keep(lambda: monitor.armed, lambda: own.says(ARMED, 0, 1.0))

    def beside() -> None:
        own.says(ARMED, 0, 1.0)
        other.says(ARMED, 0, 1.0)

    keep(lambda: monitor.silent() is None, beside)
    keep(
        lambda: (found := monitor.silent()) and found[0] == "safety_kernel",
        lambda: other.says(ARMED, 0, 1.0),
    )
