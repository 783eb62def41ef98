"""RunnerGraph: the runner's publishers and subscriptions, and the last messages received."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from openral.errors import CapabilityMismatch, ConfigError
from openral.graph import topics
from openral.graph.states import HalStatus, SafetyMode, Severity
from openral.graph.time_lease import LeaseHolder
from openral.manifest import ControlMode, RobotDescription
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.node.node import Node
from openral.ros.qos import COMMAND, LATCHED, SENSOR, STATE, QoS
from openral.ros.stamps import time_message
from openral.skill.runner.observer import BusObserver
from openral.skill.runner.parameters import RunnerParameters

_SILENT_S = 1.0
_LEASE_S = 0.1
"""How far simulated time may advance past this node's own while a goal is active."""
_MSGS = "openral_msgs/msg"


class RunnerGraph:
    """Open while the runner is active; `listener` gets verdicts, applied actions, HAL states."""

    def __init__(self, node: Node, robot: RobotDescription, settings: RunnerParameters) -> None:
        self.node, self.robot = node, robot
        self.inline = settings.policy == "inline"
        """Whether the graph runs in lock-step with this runner, so that only graph time counts."""
        self.lock = threading.RLock()
        """Held while a run reads received messages, and while a message is being received."""
        self.observer = BusObserver(node, robot, self.lock)
        self.listener: Any = None
        self.safety: Any = None
        self.executing = False
        """Whether the last HalState reports a chunk in execution."""
        self.episode: dict[str, Any] | None = None
        """The scene's last report on its task; None: there is no simulated task."""
        self._safety_s = 0.0
        self._hal_node, modes = settings.hal_node, settings.control_modes
        self._modes = None if not modes else frozenset(map(_mode, modes))
        self._asked: Future[Any] | None = None
        self._undo: list[Callable[[], None]] = []
        self._real_time = settings.real_time
        self._lease: LeaseHolder | None = None

    def open(self) -> None:
        """Creates subscriptions, publishers and the client of the HAL."""
        self.observer.open()
        hear = self._hear
        hear(f"{_MSGS}/Verdict", topics.VERDICT, partial(self._pass, "on_verdict"), STATE)
        hear(f"{_MSGS}/AppliedAction", topics.APPLIED, partial(self._pass, "on_applied"), STATE)
        hear(f"{_MSGS}/HalState", topics.HAL_STATE, self._on_hal, SENSOR)
        hear(f"{_MSGS}/SafetyState", topics.SAFETY_STATE, self._on_safety, LATCHED)
        hear("std_msgs/msg/String", topics.EPISODE, self._on_episode, LATCHED)
        speak = self._speak
        self._candidates = speak(f"{_MSGS}/ActionChunk", topics.CANDIDATE, COMMAND)
        self._steps = speak("std_msgs/msg/String", topics.STEPS, STATE)
        self._failures = speak(f"{_MSGS}/FailureTrigger", topics.FAILURE_SKILL, STATE)
        kind, name = "rcl_interfaces/srv/GetParameters", f"{self._hal_node}/get_parameters"
        self._hal = self.node.create_client(kind, name)
        self._undo.append(partial(self.node.destroy_client, self._hal))
        if not self.inline:
            self._lease = LeaseHolder(self.node, _LEASE_S)
            self._undo.append(self._lease.close)

    def close(self) -> None:
        """Destroys them."""
        self.observer.close()
        self._lease = None
        while self._undo:
            self._undo.pop()()

    def _hear(self, kind: str, topic: str, callback: Callable[[Any], None], qos: QoS) -> None:
        made = self.node.create_subscription(kind, topic, callback, qos)
        self._undo.append(partial(self.node.destroy_subscription, made))

    def _speak(self, kind: str, topic: str, qos: QoS) -> Any:
        made = self.node.create_publisher(kind, topic, qos)
        self._undo.append(partial(self.node.destroy_publisher, made))
        return made

    def _pass(self, name: str, message: Any) -> None:
        with self.lock:
            if self.listener is not None:
                getattr(self.listener, name)(message)

    def _on_hal(self, message: Any) -> None:
        with self.lock:
            self.executing = message.state == HalStatus.EXECUTING
            self._pass("on_hal_state", message)

    def _on_safety(self, message: Any) -> None:
        with self.lock:
            self.safety, self._safety_s = message, self.steady()
            if self.listener is not None:
                self.listener.wake()

    def _on_episode(self, message: Any) -> None:
        try:
            told = json.loads(message.data)
        except json.JSONDecodeError:
            return
        if isinstance(told, dict):
            with self.lock:
                self.episode = told

    # State

    def now(self) -> int:
        """Graph time in ns."""
        return self.node.now()

    @property
    def time_waits(self) -> bool:
        """Whether simulated time waits for this node, so that deadlines use graph time."""
        return self.node.clock.simulated is not None and not self._real_time

    def steady(self) -> float:
        """Timeout clock in s: monotonic, or graph time where that waits for this node."""
        return self.now() / NS if self.inline or self.time_waits else time.monotonic()

    def stalled_s(self) -> float:
        """How long graph time has stood still, in s of wall time; 0 where that is normal."""
        simulated = self.node.clock.simulated
        return 0.0 if simulated is None or self.inline else simulated.silent_for_s()

    def hold_time(self) -> None:
        """Makes simulated time wait for this node; to be called often while a goal is active."""
        if self._lease is not None and self.time_waits:
            self._lease.extend()

    def release_time(self) -> None:
        """Simulated time no longer waits for this node."""
        if self._lease is not None:
            self._lease.release()

    def not_armed(self) -> str:
        """Why the kernel would accept nothing now, in a sentence; empty: it is armed."""
        if self.safety is None:
            return f"no safety kernel was heard on {topics.SAFETY_STATE}"
        silent = self.steady() - self._safety_s
        if silent > _SILENT_S:
            return f"the safety kernel has been silent for {silent:.1f} s"
        if self.safety.state in (SafetyMode.ARMED, SafetyMode.RECOVERY):
            return ""
        return f"the safety kernel is not armed ({self.safety.reason}): {self.safety.detail}"

    @property
    def stopped_by(self) -> str:
        """Source of the latched e-stop; empty: none is latched."""
        stopped = self.safety is not None and self.safety.state == SafetyMode.ESTOPPED
        return str(self.safety.source) if stopped else ""

    def hal_modes(self) -> frozenset[ControlMode] | None:
        """The control modes that the HAL reports; None until it has answered."""
        if self._modes is None:
            if self._asked is None and self._hal.service_is_ready():
                request = self._hal.request_class(names=["control_modes"])
                self._asked = self._hal.call_async(request)
            if self._asked is not None and self._asked.done():
                asked, self._asked = self._asked, None
                if asked.exception() is None:
                    self._modes = _told(asked.result(), self._hal_node)
        return self._modes

    # Publishing

    def propose(self, chunk: Any) -> None:
        """Publishes a candidate for the kernel."""
        self._candidates.publish(chunk)

    def record(self, step: dict[str, Any]) -> None:
        """Publishes what was requested and what was applied."""
        self._steps.publish(lambda: msg.String(data=json.dumps(step)))

    def report(self, reason: str, detail: str, trace_id: bytes) -> None:
        """Publishes the failure of a goal."""
        self._failures.publish(
            lambda: msg.FailureTrigger(
                header=msg.Header(stamp=time_message(self.now())),
                source="skill",
                severity=int(Severity.ERROR),
                reason=reason,
                detail=detail,
                evidence="{}",
                trace_id=list(trace_id),
            )
        )


def _told(answer: Any, hal_node: str) -> frozenset[ControlMode]:
    from openral.ros.node.parameter_services import value_from_msg

    value = value_from_msg(answer.values[0]) if answer.values else None
    if not isinstance(value, list) or not value:
        raise CapabilityMismatch(
            f"{hal_node} does not say which control modes it can execute: it is not configured"
        )
    return frozenset(_mode(str(name)) for name in value)


def _mode(name: str) -> ControlMode:
    try:
        return ControlMode(name)
    except ValueError:
        raise ConfigError(f"'{name}' is no control mode") from None
