"""A ROS 2 node: publishers, subscriptions, services, clients, timers and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from openral.errors import ConfigError
from openral.ros import msg, names
from openral.ros.clock import Clock
from openral.ros.codec.types import Message
from openral.ros.log import NodeLogger
from openral.ros.node.client import Client
from openral.ros.node.context import Context, default_context
from openral.ros.node.loop import Loop
from openral.ros.node.node_clock import SILENCE_S, NodeClock
from openral.ros.node.parameter_services import ParameterServices
from openral.ros.node.publisher import Publisher
from openral.ros.node.service import Handler, Service
from openral.ros.node.subscription import Subscription
from openral.ros.node.timer import Rate, Timer
from openral.ros.parameters.node_parameters import NodeParameters
from openral.ros.parameters.store import Change, ParameterStore, Value
from openral.ros.qos import DEFAULT, ROSOUT, QoS, as_qos
from openral.ros.stamps import time_message

TypeName = str | type[Message] | Any
"""`"sensor_msgs/msg/JointState"`, a message class, or a service or action type."""

USE_SIM_TIME = "use_sim_time"


class Node(NodeParameters):
    """A node with rclpy's interface. Callbacks run in the executor the node is added to."""

    def __init__(
        self,
        name: str,
        namespace: str = "/",
        context: Context | None = None,
        parameters: Mapping[str, Value] | None = None,
        parameter_services: bool = True,
    ) -> None:
        """Joins the graph as a node.

        `parameters` override declared defaults. Without `parameter_services` the node is a light
        client: it serves no parameters and does not publish on /rosout.
        """
        self.name = names.check_node_name(name)
        self.namespace = names.check_namespace(namespace)
        self.full_name = names.full_name(self.name, self.namespace)
        self.context = context or default_context()
        self.log = NodeLogger(self.full_name)
        self.callback_errors = 0
        self.destroyed = False
        self._loop: Loop | None = None
        self._publishers: list[Publisher] = []
        self._subscriptions: list[Subscription] = []
        self._services: list[Service] = []
        self._clients: list[Client] = []
        self._timers: list[Timer] = []
        self._farewells: list[Callable[[], None]] = []
        self._parameters = ParameterStore(parameters)
        self.clock = NodeClock(self)
        with self.context.presence.batch_announcements():
            self.context.nodes.append(self)
            self.context.presence.add(self)
            self._start(parameter_services)

    def _start(self, parameter_services: bool) -> None:
        if parameter_services:
            rosout = self.create_publisher("rcl_interfaces/msg/Log", "/rosout", ROSOUT)
            self.log.sink = lambda level, text: rosout.publish(self._log_message(level, text))
            ParameterServices(self, self._parameters)
        self._watch = Timer(SILENCE_S / 4, self._check, Clock())
        self._timers.append(self._watch)
        if self._parameters.declare(USE_SIM_TIME, False):
            self.clock.use_simulated(True)
        self._parameters.add_listener(self._follow_sim_time)

    def _check(self) -> None:
        self.clock.check()
        for subscription in self._subscriptions:
            subscription.check()

    def _follow_sim_time(self, change: Change) -> None:
        for parameter in change.changed:
            if parameter.name == USE_SIM_TIME:
                self.clock.use_simulated(bool(parameter.value))

    # Topics

    def create_publisher(
        self, msg_type: TypeName, topic: str, qos: QoS | int = DEFAULT
    ) -> Publisher:
        """Creates a publisher; an integer `qos` is a queue depth."""
        publisher = Publisher(self, interface_name(msg_type), self.resolve(topic), as_qos(qos))
        self._publishers.append(publisher)
        self.context.presence.announce()
        return publisher

    def create_subscription(
        self,
        msg_type: TypeName,
        topic: str,
        callback: Callable[[Any], None],
        qos: QoS | int = DEFAULT,
        *,
        raw: bool = False,
        inline: bool = False,
    ) -> Subscription:
        """Subscribes with a callback; an integer `qos` is a queue depth.

        `raw` passes CDR bytes instead of messages. `inline` runs the callback on the receiving
        thread (the publisher's thread within a context) instead of in the executor.
        """
        name = interface_name(msg_type)
        subscription = Subscription(
            self, name, self.resolve(topic), callback, as_qos(qos), raw=raw, inline=inline
        )
        self._subscriptions.append(subscription)
        loop = self.context.io if inline else self._loop
        if loop is not None:
            subscription.attach(loop)
        self.context.presence.announce()
        return subscription

    # Services

    def create_service(self, srv_type: TypeName, name: str, handler: Handler) -> Service:
        """Serves calls: `handler(request, response)` returns the response or a Future of it."""
        service = Service(self, interface_name(srv_type), self.resolve(name), handler)
        self._services.append(service)
        if self._loop is not None:
            service.attach(self._loop)
        self.context.presence.announce()
        return service

    def create_client(self, srv_type: TypeName, name: str) -> Client:
        """Creates a client of a service."""
        client = Client(self, interface_name(srv_type), self.resolve(name))
        self._clients.append(client)
        self.context.presence.announce()
        return client

    # Time

    def now(self) -> int:
        """The graph's time in ns: wall time, or /clock under `use_sim_time`."""
        return self.clock.now_ns()

    def stamp(self) -> msg.Time:
        """`now` as a builtin_interfaces/msg/Time."""
        return time_message(self.clock.now_ns())

    def create_timer(self, period_s: float, callback: Callable[[], None]) -> Timer:
        """Calls back every `period_s` of the node's clock."""
        timer = Timer(period_s, lambda: self.run_callback(lambda _: callback(), None), self.clock)
        self._timers.append(timer)
        if self._loop is not None:
            self._loop.add_timer(timer)
        return timer

    def create_wall_timer(self, period_s: float, callback: Callable[[], None]) -> Timer:
        """Calls back every `period_s` of wall time, even while the graph's clock stands still."""
        timer = Timer(period_s, lambda: self.run_callback(lambda _: callback(), None), Clock())
        self._timers.append(timer)
        if self._loop is not None:
            self._loop.add_timer(timer)
        return timer

    def create_rate(self, hz: float) -> Rate:
        """Paces a loop on the caller's own thread by the node's clock."""
        return Rate(hz, self.clock)

    # Internals

    def resolve(self, name: str) -> str:
        """The absolute form of a topic or service name."""
        return names.resolve(name, self.name, self.namespace)

    def get_logger(self) -> NodeLogger:
        """`log`, under rclpy's name."""
        return self.log

    def run_callback(self, callback: Callable[[Any], Any], argument: Any) -> None:
        """Runs a callback; exceptions are logged with the node's name and counted, not raised."""
        try:
            callback(argument)
        except Exception as error:
            name = getattr(callback, "__qualname__", repr(callback))
            self.log.exception("callback failed", callback=name, error=repr(error))
            self.callback_errors += 1

    def in_executor(self, call: Callable[[], Any]) -> Future[Any]:
        """Runs a call in the node's executor; immediately if the node has none."""
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)

        if self._loop is None:
            run()
        else:
            self._loop.post(run)
        return future

    def attach(self, loop: Loop) -> None:
        """Called by the executor."""
        if self._loop is not None:
            raise ConfigError(f"node '{self.full_name}' already has an executor")
        self._loop = loop
        for waitable in self._waitables():
            waitable.attach(loop)
        for timer in self._timers:
            loop.add_timer(timer)

    def detach(self) -> None:
        """Called by the executor."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        for waitable in self._waitables():
            waitable.detach()
        for timer in self._timers:
            loop.remove_timer(timer)

    def _waitables(self) -> list[Subscription | Service]:
        return [*(s for s in self._subscriptions if not s.inline), *self._services]

    def endpoint_guids(self) -> tuple[list[bytes], list[bytes]]:
        """GUIDs of this node's readers and writers."""
        pairs: list[Service | Client] = [*self._services, *self._clients]
        readers = [s.guid for s in self._subscriptions] + [p.reader_guid for p in pairs]
        writers = [p.guid for p in self._publishers] + [p.writer_guid for p in pairs]
        return readers, writers

    def destroy_timer(self, timer: Timer) -> None:
        """Removes a timer."""
        self._timers.remove(timer)
        if self._loop is not None:
            self._loop.remove_timer(timer)

    def destroy_subscription(self, subscription: Subscription) -> None:
        """Closes a subscription."""
        self._close(self._subscriptions, subscription)

    def destroy_publisher(self, publisher: Publisher) -> None:
        """Closes a publisher."""
        self._close(self._publishers, publisher)

    def destroy_service(self, service: Service) -> None:
        """Closes a service."""
        self._close(self._services, service)

    def destroy_client(self, client: Client) -> None:
        """Closes a client; its pending calls fail."""
        self._close(self._clients, client)

    def _close(self, members: list[Any], member: Any) -> None:
        if member in members:
            members.remove(member)
            member.close()
            self.context.presence.announce()

    def before_destroy(self, farewell: Callable[[], None]) -> None:
        """Runs `farewell` when the node is destroyed, while its endpoints are still open."""
        self._farewells.append(farewell)

    def destroy(self) -> None:
        """Leaves the graph; idempotent."""
        if self.destroyed:
            return
        self.destroyed = True
        self.detach()
        for farewell in reversed(self._farewells):
            self.run_callback(lambda call: call(), farewell)
        self.log.sink = None
        with self.context.presence.batch_announcements():
            self.context.presence.remove(self)
            for members in (self._publishers, self._subscriptions, self._services, self._clients):
                for member in members:
                    member.close()
        if self in self.context.nodes:
            self.context.nodes.remove(self)

    def _log_message(self, level: int, text: str) -> msg.Log:
        return msg.Log(stamp=self.stamp(), level=level, name=self.full_name, msg=text)


def interface_name(of: TypeName) -> str:
    """The ROS name of a type given by name, message class or service or action type."""
    if isinstance(of, str):
        return of
    named: Any = of
    return str(getattr(named, "__ros_type__", None) or named.name)
