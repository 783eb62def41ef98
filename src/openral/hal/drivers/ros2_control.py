"""Ros2ControlHAL: robots whose manufacturer ships a ros2_control driver.

The driver's controllers follow a stream of short targets, so that the motion ends within one period
however this process ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openral.errors import PerceptionStale, SafetyViolation, TransportError
from openral.hal.drivers.controllers import parse_controllers
from openral.hal.drivers.streamed import StreamedHAL
from openral.manifest import RobotDescription
from openral.ros.clock import NS
from openral.ros.node.context import Context
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.node.publisher import Publisher
from openral.ros.qos import COMMAND, SENSOR
from openral.ros.stamps import stamp_ns
from openral.ros.transport.dds_config import Network

Vector = NDArray[np.float64]

_AT_REST = 0.05


@dataclass(frozen=True, slots=True)
class _Reading:
    """One joint as the driver reports it, in rad or m and s."""

    position: float
    velocity: float
    stamp_ns: int


@dataclass(frozen=True, slots=True)
class DriverState:
    """All joints in the manifest's order, (dof,); the stamp is that of the oldest reading."""

    positions: Vector
    velocities: Vector
    stamp_ns: int


class Ros2ControlDriver:
    """A JointDriver over topics: joint states in, controller targets out."""

    def __init__(
        self,
        robot: RobotDescription,
        *,
        controllers: Mapping[str, Any] | None = None,
        joint_names: Mapping[str, str] | None = None,
        namespace: str = "/",
        state_topic: str = "joint_states",
        period_s: float = 0.02,
        timeout_s: float = 10.0,
        domain: int | None = None,
        network: str | None = None,
    ) -> None:
        self.robot, self.namespace = robot, namespace
        self._controllers = parse_controllers(robot, controllers)
        named = dict(joint_names or {})
        self._driver_names = {name: named.get(name, name) for name in robot.joint_names}
        self._state_topic, self._period_s, self._timeout_s = state_topic, period_s, timeout_s
        self._network = Network.from_environment(domain, network)
        self._max_age_ns = round(robot.safety.state_max_age_s * NS)
        self._readings: dict[str, _Reading] = {}
        self._heard = threading.Condition()
        self._publishers: dict[str, Publisher] = {}
        self._context: Context | None = None
        self._executor: Executor | None = None
        self._stopped = False

    def connect(self) -> None:
        """Waits for a complete joint state and for every controller."""
        context = Context(self._network)
        try:
            node = Node(f"{self.robot.id}_driver", self.namespace, context)
            node.create_subscription(
                "sensor_msgs/msg/JointState", self._state_topic, self._hear, SENSOR
            )
            for name, controller in self._controllers.items():
                topic = controller.topic(name)
                self._publishers[name] = node.create_publisher(controller.type_name, topic, COMMAND)
            self._executor = Executor(context)
            self._executor.add_node(node)
            self._executor.start()
            self._context = context
            self._stopped = False
            self._await(lambda: not self._missing(), self._explain_missing)
            self._await(lambda: not self._deaf(), self._explain_deaf)
        except BaseException:
            self._context = context
            self._leave()
            raise

    def read_state(self) -> DriverState:
        """The latest state of all joints; PerceptionStale when a joint's is too old."""
        self._require_connected()
        with self._heard:
            if self._missing():
                raise TransportError(self._explain_missing())
            readings = [self._readings[self._driver_names[j]] for j in self.robot.joint_names]
        stamp = min(reading.stamp_ns for reading in readings)
        if (age := time.time_ns() - stamp) > self._max_age_ns:
            raise PerceptionStale(
                f"joint states of '{self.robot.id}' are {age * 1e-9:.3g} s old; "
                f"at most {self._max_age_ns * 1e-9:g} s are allowed"
            )
        return DriverState(
            np.array([reading.position for reading in readings]),
            np.array([reading.velocity for reading in readings]),
            stamp,
        )

    def send(self, positions: Any) -> None:
        """Publishes targets, (dof,) in the manifest's order, to all controllers."""
        self._require_connected()
        if self._stopped:
            raise SafetyViolation(f"'{self.robot.id}' is stopped; clear the stop before it moves")
        self._publish(positions)

    def hold(self, reason: str = "asked") -> None:
        """Commands the measured position to all controllers."""
        self._publish(self.read_state().positions)

    def estop(self, reason: str = "asked") -> None:
        """Refuses targets from now on and returns once the joints are measured at rest."""
        self._stopped = True
        self._require_connected()
        if deaf := self._deaf():
            raise TransportError(f"no stop: controllers {', '.join(deaf)} do not listen any more")
        self.hold()
        self._await(self._at_rest, lambda: f"'{self.robot.id}' does not come to rest", 1.0)

    def clear_estop(self) -> None:
        """Clears a stop: the target is the measured position."""
        if deaf := self._deaf():
            raise TransportError(f"controllers {', '.join(deaf)} do not listen any more")
        self.hold()
        self._stopped = False

    def close(self) -> None:
        """Holds position if possible, and leaves the graph."""
        if self._context is None:
            return
        try:
            self.hold()
        except (TransportError, PerceptionStale):
            pass  # the controllers hold their last target by themselves
        finally:
            self._leave()

    def _publish(self, positions: Any) -> None:
        column = {name: i for i, name in enumerate(self.robot.joint_names)}
        for name, controller in self._controllers.items():
            names = [self._driver_names[joint] for joint in controller.joints]
            targets = np.array([positions[column[joint]] for joint in controller.joints])
            self._publishers[name].publish(controller.message(names, targets, self._period_s))

    def _hear(self, message: Any) -> None:
        stamp = stamp_ns(message)
        with self._heard:
            for index, name in enumerate(message.name):
                if index >= len(message.position) or not np.isfinite(message.position[index]):
                    continue
                position = float(message.position[index])
                before = self._readings.get(name)
                if before is not None and stamp <= before.stamp_ns:
                    continue
                if index < len(message.velocity) and np.isfinite(message.velocity[index]):
                    velocity = float(message.velocity[index])
                elif before is not None:
                    velocity = (position - before.position) / ((stamp - before.stamp_ns) / NS)
                else:
                    velocity = 0.0
                self._readings[name] = _Reading(position, velocity, stamp)
            self._heard.notify_all()

    def _missing(self) -> list[str]:
        return [name for name in self._driver_names.values() if name not in self._readings]

    def _deaf(self) -> list[str]:
        return [name for name, p in self._publishers.items() if not p.has_subscribers]

    def _at_rest(self) -> bool:
        return bool(np.abs(self.read_state().velocities).max(initial=0.0) < _AT_REST)

    def _await(
        self,
        condition: Callable[[], bool],
        explain: Callable[[], str],
        timeout_s: float | None = None,
    ) -> None:
        """Waits for a condition that depends on the driver's messages or on discovery."""
        limit = self._timeout_s if timeout_s is None else timeout_s
        give_up = time.monotonic() + limit
        while not condition():
            if time.monotonic() >= give_up:
                raise TransportError(f"{explain()} (waited {limit:g} s)")
            with self._heard:
                self._heard.wait(0.05)

    def _explain_missing(self) -> str:
        missing = ", ".join(self._missing())
        heard = ", ".join(self._readings) or "none"
        topic = f"{self.namespace.rstrip('/')}/{self._state_topic}"
        return f"no state of joints {missing} on {topic}; joints heard: {heard}"

    def _explain_deaf(self) -> str:
        base = self.namespace.rstrip("/")
        topics = [f"{base}/{self._controllers[n].topic(n)}" for n in self._deaf()]
        return f"no controller listens on {', '.join(topics)}; is it loaded and active?"

    def _require_connected(self) -> None:
        if self._context is None:
            raise TransportError(f"the driver of '{self.robot.id}' is not connected")

    def _leave(self) -> None:
        executor, context = self._executor, self._context
        self._executor = self._context = None
        self._publishers.clear()
        self._readings.clear()
        if executor is not None:
            executor.shutdown()
        if context is not None:
            context.close()


class Ros2ControlHAL(StreamedHAL):
    """A robot behind ros2_control's trajectory or forward-command controllers."""

    def __init__(
        self,
        robot: RobotDescription,
        *,
        controllers: Mapping[str, Any] | None = None,
        joint_names: Mapping[str, str] | None = None,
        namespace: str = "/",
        state_topic: str = "joint_states",
        rate_hz: float = 50.0,
        timeout_s: float = 10.0,
        domain: int | None = None,
        network: str | None = None,
    ) -> None:
        """`controllers`: name → {kind: trajectory | position, joints: [...]}, by default one
        joint_trajectory_controller for all; `joint_names`: the driver's names where they differ.
        """
        driver = Ros2ControlDriver(
            robot,
            controllers=controllers,
            joint_names=joint_names,
            namespace=namespace,
            state_topic=state_topic,
            period_s=1.0 / rate_hz,
            timeout_s=timeout_s,
            domain=domain,
            network=network,
        )
        super().__init__(robot, driver, rate_hz=rate_hz)
        self.driver: Ros2ControlDriver = driver
