"""Monitor: tracks a graph's rates, verdicts, stops and hung nodes for the supervisor."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from openral.deploy.managed import ManagedNode
from openral.deploy.plan import NodeSpec
from openral.deploy.streams import Stream
from openral.graph import topics
from openral.graph.deadlines import SILENT_S, STARTING_S
from openral.graph.sealed import Secret, subscribe_sealed
from openral.graph.states import HalStatus, SafetyMode
from openral.ros.clock import NS
from openral.ros.log import LEVELS
from openral.ros.node.node import Node
from openral.ros.qos import ROSOUT, QoS
from openral.ros.rate_meter import RateMeter

VERDICTS = ("accepted", "slowed", "rejected", "dropped")
STATES = ("idle", "armed", "estopped", "recovery")
HAL_STATES = ("holding", "executing", "stopped")
_CHECK_S = 0.02
_ASK_S, _ANSWER_S = 0.5, 3.0
_MESSAGES = "openral_msgs/msg"


@dataclass
class Track:
    """Message count and rate of one topic."""

    stream: Stream
    meter: RateMeter = field(default_factory=lambda: RateMeter(60))
    count: int = 0
    """Messages within the measured window."""
    first_at: float | None = None
    """Monotonic time of the first message, in s."""

    def heard(self, _: Any) -> None:
        """Counts one message."""
        now = time.monotonic()
        if self.first_at is None:
            self.first_at = now
        self.count += 1
        self.meter.tick(round(now * NS))

    @property
    def live_hz(self) -> float:
        """Rate in Hz of wall time, over the last messages."""
        report = self.meter.report()
        return report.hz if report else 0.0


class Monitor:
    """Subscribes through a node; all callbacks run in that node's executor."""

    def __init__(self, node: Node, streams: Iterable[Stream], key: Secret | None = None) -> None:
        """With the run's key it believes this run's kernel and HAL alone."""
        self.node, self._key = node, key
        self.tracks = {stream.topic: Track(stream) for stream in streams}
        self.verdicts: Counter[str] = Counter()
        self.last_verdict = ""
        self.safety: Any = None
        self.hal: Any = None
        self.estops = 0
        self.stop_reasons: list[str] = []
        self.errors: dict[str, str] = {}
        """The last error logged by each node."""
        self.failures: list[tuple[str, str]] = []
        """(source, description) of failures reported in the graph."""
        self.time_waits = False
        """Whether simulated time waits for slow nodes, so that only long silence is a fault."""
        self._begun = False
        self._limits: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._checked = time.monotonic()
        self._resumed = self._checked
        self._began = (self._checked, 0)
        with node.context.presence.batch_announcements():
            self._listen()
        node.create_wall_timer(_CHECK_S, self._check)

    def _listen(self) -> None:
        hear = self.node.create_subscription
        for track in self.tracks.values():
            hear(
                track.stream.type_name, track.stream.topic, track.heard, track.stream.qos, raw=True
            )
        hear(f"{_MESSAGES}/Verdict", topics.VERDICT, self._on_verdict, QoS(depth=200))
        own = hear if self._key is None else partial(subscribe_sealed, self.node, self._key)
        own(f"{_MESSAGES}/SafetyState", topics.SAFETY_STATE, self._on_safety, topics.LATCHED)
        own(f"{_MESSAGES}/HalState", topics.HAL_STATE, self._on_hal, topics.SENSOR)
        hear("rcl_interfaces/msg/Log", "/rosout", self._on_log, ROSOUT)
        for source in ("hal", "recorder", "skill", "world"):
            kind, topic = f"{_MESSAGES}/FailureTrigger", topics.failure(source)
            hear(kind, topic, self._on_failure, topics.STATE)

    # Callbacks

    def _on_verdict(self, verdict: Any) -> None:
        known = verdict.status < len(VERDICTS)
        self.verdicts[VERDICTS[verdict.status] if known else "unknown"] += 1
        self.last_verdict = verdict.reason

    def _on_safety(self, state: Any) -> None:
        before, self.safety = self.safety, state
        was_stopped = before is not None and before.state == SafetyMode.ESTOPPED
        if state.state == SafetyMode.ESTOPPED and not was_stopped:
            self.estops += 1
            self.stop_reasons.append(f"{state.source}: {state.detail or state.reason}")

    def _on_hal(self, state: Any) -> None:
        self.hal = state

    def _on_log(self, log: Any) -> None:
        if log.level >= LEVELS["error"]:
            self.errors[log.name.lstrip("/")] = log.msg

    def _on_failure(self, failure: Any) -> None:
        self.failures.append((failure.source, failure.detail or failure.reason))

    @property
    def armed(self) -> bool:
        """Whether the kernel is armed, i.e. passes proven motion."""
        return self.safety is not None and self.safety.state == SafetyMode.ARMED

    @property
    def is_stopped(self) -> bool:
        """Whether kernel and HAL both report that the robot is stopped."""
        heard = self.safety is not None and self.hal is not None
        return (
            heard
            and self.safety.state == SafetyMode.ESTOPPED
            and self.hal.state == HalStatus.STOPPED
        )

    # The measured window

    def begin(self) -> None:
        """Starts the measured window."""
        self._begun = True
        self._began = (time.monotonic(), self.node.now())
        for track in self.tracks.values():
            track.count = 0

    def elapsed(self) -> tuple[float, float]:
        """(wall time, graph time) since `begin`, in s."""
        wall, graph = self._began
        return time.monotonic() - wall, (self.node.now() - graph) / NS

    # Silence

    def watch(self, spec: NodeSpec, managed: ManagedNode) -> None:
        """Watches a node from now on: by its pulse topic, or by polling its state."""
        self._last[spec.name] = time.monotonic()
        heard = partial(self._pulse, spec.name)
        if (pulse := spec.pulse) is not None:
            self._limits[spec.name] = pulse.longest_s
            hear = self.node.create_subscription
            if spec.gets_key and self._key is not None:
                hear = partial(subscribe_sealed, self.node, self._key)
            hear(pulse.type_name, pulse.topic, heard, pulse.qos, raw=True)
        else:
            self._limits[spec.name] = _ANSWER_S
            self.node.create_wall_timer(_ASK_S, lambda: managed.state().add_done_callback(heard))

    def unwatch(self, name: str) -> None:
        """Stops watching a node."""
        self._last.pop(name, None)

    def _pulse(self, name: str, said: Any) -> None:
        failed = isinstance(said, Future) and said.exception() is not None
        if name in self._last and not failed:
            self._last[name] = time.monotonic()

    def _check(self) -> None:
        """Notes when this process itself was delayed: messages from then are still queued."""
        now = time.monotonic()
        if now - self._checked > 10 * _CHECK_S:
            self._resumed = now
        self._checked = now

    def _limit(self, name: str) -> float:
        if self.time_waits:
            return SILENT_S if self._begun else STARTING_S
        return self._limits[name]

    def silent(self) -> tuple[str, float] | None:
        """(name, silence in s) of a node that hangs; None if all are alive."""
        now = time.monotonic()
        if now - self._checked > 10 * _CHECK_S:
            return None  # this executor is late itself: other nodes cannot be judged
        for name, last in list(self._last.items()):
            quiet = now - max(last, self._resumed)
            if quiet > self._limit(name):
                return name, now - last
        return None
