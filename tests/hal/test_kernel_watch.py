"""KernelWatch under any order of heartbeats, restarts, events and silence: who may move it."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from openral.graph.ports import Ports
from openral.graph.run_key import RunKey
from openral.graph.seal import Refusals
from openral.graph.states import HalStatus, SafetyMode
from openral.hal.gate.hal_state import GateRecord
from openral.hal.gate.kernel_watch import CHECK_S, KernelWatch
from openral.hal.graph_time import GraphTime
from openral.hal.sim.mujoco_hal import MujocoHAL
from openral.manifest import load_robot
from openral.ros.codec import types
from openral.ros.node.context import Context
from openral.ros.node.node import Node
from openral.ros.transport.memory_transport import MemoryTransport

ROBOT = load_robot("so101_follower")
PATIENCE_S = 0.07
ARMED = (SafetyMode.ARMED, SafetyMode.RECOVERY)


class CountedHAL(MujocoHAL):
    """Counts the stops that it is told."""

    stops = 0

    def estop(self, reason: str) -> None:
        self.stops += 1
        super().estop(reason)


class Watched(RuleBasedStateMachine):
    """A robot, its watch, and beside them what must hold in plain words."""

    def __init__(self) -> None:
        super().__init__()
        self.hal = CountedHAL(ROBOT)
        self.hal.connect()
        self.context = Context(transport=MemoryTransport())
        self.node = Node("hal", context=self.context)
        self.record = GateRecord(Refusals())
        self.now = 100.0
        self.reports: list[str] = []
        self.events: list[Any] = []
        self.watch = KernelWatch(
            self.hal,
            GraphTime(self.hal, False),
            self.record,
            PATIENCE_S,
            lambda reason, detail: self.reports.append(reason),
            lambda: self.now,
        )
        self.ports = Ports(self.node, RunKey.create())
        self.epoch, self.beat = 10, 0
        self.mode: SafetyMode | None = None
        self.relied = False
        """Whether an unarmed beat was heard since the last reason for doubt."""
        self.silent = 0.0

    @initialize()
    def open(self) -> None:
        self.watch.open(self.ports)
        self.node.create_subscription(
            "openral_msgs/msg/EStopEvent", "/openral/estop", self.events.append, inline=True
        )

    def say(self, mode: SafetyMode) -> None:
        self.beat += 1
        self.watch.heard(
            types.new(
                "openral_msgs/msg/SafetyState",
                epoch=self.epoch,
                beat=self.beat,
                state=int(mode),
                source="kernel",
                reason="test",
            )
        )
        if mode not in ARMED:
            self.relied = True
        elif self.mode is None:
            self.relied = False
        self.mode, self.silent = mode, 0.0
        self.hal.step()

    @rule(mode=st.sampled_from(list(SafetyMode)))
    def beat_heard(self, mode: SafetyMode) -> None:
        self.say(mode)
        if mode is SafetyMode.ESTOPPED:
            assert self.hal.read_state().motion.status is HalStatus.STOPPED
            assert (self.record.stop_epoch, self.record.stop_beat) == (self.epoch, self.beat)

    @rule()
    def kernel_restarts(self) -> None:
        self.epoch += 1
        self.beat = 0
        self.say(SafetyMode.IDLE)

    @rule()
    def old_beat_repeated(self) -> None:
        """What is not newer than the last beat is no sign of life, and arms nobody."""
        before = self.watch.may_move()
        self.watch.heard(
            types.new(
                "openral_msgs/msg/SafetyState",
                epoch=self.epoch,
                beat=self.beat,
                state=SafetyMode.ARMED,
            )
        )
        assert self.watch.may_move() == before

    @rule(periods=st.integers(1, 30))
    def silence(self, periods: int) -> None:
        for _ in range(periods):
            self.now += CHECK_S
            self.silent += CHECK_S
            self.watch.check()
            if self.silent > PATIENCE_S + 1e-9 and self.mode in ARMED:
                self.relied = False
        self.hal.step()

    @rule()
    def node_sleeps(self) -> None:
        self.now += 0.3
        self.watch.check()
        self.relied = self.relied and self.mode not in ARMED

    @rule(gap=st.floats(0.02, 0.24), wakes=st.integers(1, 8))
    def node_wakes_now_and_then(self, gap: float, wakes: int) -> None:
        """Starved, it cannot tell silence from sleep; but a quarter of a second is the end."""
        for times in range(1, wakes + 1):
            self.now += gap
            self.watch.check()
            if times > 1 and times * gap > 0.25 + 1e-9:
                self.relied = self.relied and self.mode not in ARMED

    @rule()
    def somebody_presses_a_button(self) -> None:
        self.watch._on_event(types.new("openral_msgs/msg/EStopEvent", source="button"))
        assert self.mode is SafetyMode.ESTOPPED or not self.watch.may_move()
        if self.mode is not SafetyMode.ESTOPPED:
            assert self.hal.read_state().motion.status is HalStatus.STOPPED
            self.relied = self.relied and self.mode not in ARMED
        stops = self.hal.stops
        for _ in range(3):  # a real arm's stop may be a ramp, which must not begin again
            self.watch._on_event(types.new("openral_msgs/msg/EStopEvent", source="button"))
        assert self.hal.stops == stops

    @precondition(lambda self: self.mode in ARMED and not self.relied)
    @rule()
    def an_armed_kernel_that_is_not_relied_on_is_told_to_stop(self) -> None:
        self.now += 0.2
        self.silent = 0.0
        before = len(self.events)
        self.say(self.mode or SafetyMode.ARMED)
        assert len(self.events) > before
        assert not self.watch.may_move()

    @invariant()
    def only_an_armed_and_trusted_kernel_moves_the_robot(self) -> None:
        if self.watch.may_move():
            assert self.mode in ARMED
            assert self.relied
            self.hal.step()
            assert self.hal.read_state().motion.status is not HalStatus.STOPPED

    def teardown(self) -> None:
        self.ports.close()
        self.context.close()
        self.hal.close()


TestWatched = Watched.TestCase
TestWatched.settings = settings(
    max_examples=30,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
