"""The supervisor's node in the graph: service calls that watch the run while they wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from openral.deploy.managed import ManagedNode, value_of
from openral.deploy.monitor import Monitor
from openral.deploy.plan import NodeSpec
from openral.deploy.results import RunEnded
from openral.deploy.streams import Stream
from openral.errors import TransportError
from openral.graph import topics
from openral.graph.deadlines import STARTING_S
from openral.graph.run_key import RunKey
from openral.graph.sealed import subscribe_sealed
from openral.ros import msg
from openral.ros.node.context import Context
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.node.node_clock import CLOCK_TYPE
from openral.ros.node.subscription import Subscription
from openral.ros.qos import CLOCK
from openral.ros.stamps import time_message
from openral.ros.transport.dds_config import Network

_STEP_S = 0.02
_GRACE_S = 0.5


def _sealed_clock(node: Node, key: RunKey, hear: Callable[[Any], None]) -> Subscription:
    return subscribe_sealed(node, key, CLOCK_TYPE, "/clock", hear, CLOCK, inline=True)


class GraphLink:
    """While it waits it polls `look`, which raises RunEnded as soon as the run is over."""

    def __init__(
        self,
        network: Network,
        streams: list[Stream],
        look: Callable[[], None],
        key: RunKey | None = None,
    ) -> None:
        """With the run's key it believes its own kernel and HAL alone, and their clock."""
        self._look = look
        self.context = Context(network)
        self.node = Node("supervisor", context=self.context)
        self.executor = Executor(self.context)
        self.executor.add_node(self.node)
        if key is not None:
            self.node.clock.take_from(partial(_sealed_clock, self.node, key))
        self.monitor = Monitor(self.node, streams, key)
        self._stops = self.node.create_publisher(
            "openral_msgs/msg/EStopEvent", topics.ESTOP, topics.COMMAND
        )
        self.managed: dict[str, ManagedNode] = {}
        self.executor.start()

    def close(self) -> None:
        """Leaves the graph."""
        self.executor.shutdown()
        self.context.close()

    # Waiting

    def until(self, condition: Callable[[], Any], timeout_s: float, what: str) -> Any:
        """Waits until the condition returns a true value; RunEnded after `timeout_s`.

        `what` is the message's first part, e.g. "hal did not come up".
        """
        give_up = time.monotonic() + timeout_s
        while not (value := condition()):
            self._look()
            if time.monotonic() > give_up:
                raise RunEnded.fault(f"{what} within {timeout_s:g} s")
            time.sleep(_STEP_S)
        return value

    def answer(self, future: Future[Any], timeout_s: float, what: str) -> Any:
        """Waits for the result of a future; RunEnded if it fails or takes over `timeout_s`."""
        give_up = time.monotonic() + timeout_s
        while True:
            try:
                return future.result(_STEP_S)
            except TimeoutError:
                self._look()
                if time.monotonic() > give_up:
                    raise RunEnded.fault(f"{what} did not answer within {timeout_s:g} s") from None
            except TransportError as error:
                self._better_reason()
                raise RunEnded.fault(f"{what}: {error}") from None

    def _better_reason(self) -> None:
        """Polls `look` for 0.5 s: a server that is gone has usually died, and `look` knows how."""
        give_up = time.monotonic() + _GRACE_S
        while time.monotonic() < give_up:
            self._look()
            time.sleep(_STEP_S)

    # Managed nodes

    def join(self, spec: NodeSpec, timeout_s: float) -> ManagedNode:
        """Waits up to `timeout_s` for a node's services; RunEnded if they do not appear."""
        made = self.managed[spec.name] = ManagedNode(self.node, spec.name)
        self.until(lambda: made.is_there, timeout_s, f"{spec.name} did not come up")
        return made

    def change(self, name: str, label: str, timeout_s: float) -> None:
        """Executes a node's transition; RunEnded with the node's reason if it fails."""
        self.monitor.errors.pop(name, None)
        answer = self.answer(self.managed[name].transition(label), timeout_s, f"{name} {label}")
        if not answer.success:
            give_up = time.monotonic() + _GRACE_S
            while name not in self.monitor.errors and time.monotonic() < give_up:
                time.sleep(_STEP_S)
            text = self.monitor.errors.get(name, "its log says why")
            _, found, reason = text.partition("reason=")
            raise RunEnded.fault(f"{name} cannot {label}: {reason if found else text}")

    def parameter(self, name: str, parameter: str) -> Any:
        """The value of a node's parameter."""
        future = self.managed[name].parameter(parameter)
        return value_of(self.answer(future, STARTING_S, f"{name}'s parameters"))

    def set_parameter(self, name: str, parameter: str, value: Any) -> None:
        """Sets a node's parameter; RunEnded if it is refused."""
        future = self.managed[name].set_parameter(parameter, value)
        result = self.answer(future, STARTING_S, f"{name}'s parameters").results[0]
        if not result.successful:
            raise RunEnded.fault(f"{name} refuses {parameter}={value}: {result.reason}")

    def call(self, kind: str, service: str, timeout_s: float, **fields: Any) -> Any:
        """Calls a service once, waiting for it first."""
        client = self.node.create_client(kind, service)
        try:
            self.until(client.service_is_ready, timeout_s, f"nobody serves {service}")
            request = client.request_class(**fields)
            return self.answer(client.call_async(request), timeout_s, service)
        finally:
            self.node.destroy_client(client)

    def tell_stop(self, reason: str) -> None:
        """Publishes an e-stop event; thread-safe."""
        header = msg.Header(stamp=time_message(self.node.now()))
        self._stops.publish(msg.EStopEvent(header=header, source="supervisor", reason=reason))

    def stop_robot(self, reason: str) -> None:
        """Publishes e-stop events until kernel and HAL report the stop, for at most 0.5 s.

        One message may be lost, and the transport's own retransmission would come late.
        """
        give_up = time.monotonic() + _GRACE_S
        self.tell_stop(reason)
        while time.monotonic() < give_up and not self.monitor.is_stopped:
            time.sleep(_STEP_S)
            self.tell_stop(reason)
