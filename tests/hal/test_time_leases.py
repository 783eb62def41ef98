"""Leases on simulated time: no order of leases, releases and silence lets time pass a live one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from openral.graph.deadlines import SILENT_S
from openral.graph.ports import Ports
from openral.graph.run_key import RunKey
from openral.graph.time_lease import TOPIC, TYPE, LeaseHolder
from openral.hal.sim.time_leases import ASTRAY_NS, MOST_HOLDERS, TimeLeases
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.node.context import Context
from openral.ros.node.node import Node
from openral.ros.qos import CLOCK, STATE
from openral.ros.stamps import time_message
from openral.ros.transport.memory_transport import MemoryTransport

NAMES = ("safety_kernel", "skill_runner", "käfer 🤖", "")


def lease(holder: str, until_ns: int, waits_for: str = "") -> Any:
    return msg.TimeLease(holder=holder, until=time_message(until_ns), waits_for=waits_for)


class Leased(RuleBasedStateMachine):
    """The leases of a simulation, and beside them what must hold in plain words."""

    def __init__(self) -> None:
        super().__init__()
        self.steady = 50.0
        self.context = Context(transport=MemoryTransport())
        self.woken = 0
        self.leases = TimeLeases(self._wake, lambda: self.steady)
        self.leases.open(Ports(Node("hal", context=self.context), RunKey.create()))
        self.live: dict[str, tuple[int, float]] = {}
        self.now_ns = NS

    def _wake(self) -> None:
        self.woken += 1

    @rule(holder=st.sampled_from(NAMES), ahead_ms=st.integers(-200, 500))
    def extended(self, holder: str, ahead_ms: int) -> None:
        until = max(1, self.now_ns + ahead_ms * 1_000_000)
        woken = self.woken
        self.leases.received(lease(holder, until))
        self.live[holder] = (until, self.steady)
        assert self.woken > woken, "the simulation sleeps on"

    @rule(holder=st.sampled_from(NAMES))
    def released(self, holder: str) -> None:
        self.leases.received(lease(holder, 0))
        self.live.pop(holder, None)

    @rule(seconds=st.floats(0.0, 1.5 * SILENT_S))
    def wall_time_passes(self, seconds: float) -> None:
        self.steady += seconds

    @rule(by_ms=st.integers(1, 300))
    def simulation_wants_to_step(self, by_ms: int) -> None:
        wanted = self.now_ns + by_ms * 1_000_000
        holds = [
            holder
            for holder, (until, said) in self.live.items()
            if wanted > until and self.steady - said <= SILENT_S
        ]
        assert self.leases.may_reach(wanted) == (not holds)
        if holds:
            assert self.leases.waits_for in holds
            return
        assert self.leases.waits_for == ""
        self.now_ns = wanted
        # Who was silent for too long is dropped for good, until it is received again.
        for holder, (until, _) in list(self.live.items()):
            if wanted > until:
                del self.live[holder]

    @invariant()
    def time_can_always_go_on_to_where_it_is_allowed(self) -> None:
        fresh = [until for until, said in self.live.values() if self.steady - said <= SILENT_S]
        assert not fresh or self.leases.may_reach(min(fresh))

    def teardown(self) -> None:
        self.context.close()


Leased.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestLeased = Leased.TestCase


@contextmanager
def opened() -> Iterator[tuple[TimeLeases, list[float]]]:
    """Leases and the wall time that they go by."""
    wall = [100.0]
    context = Context(transport=MemoryTransport())
    leases = TimeLeases(lambda: None, lambda: wall[0])
    leases.open(Ports(Node("hal", context=context), RunKey.create()))
    yield leases, wall
    context.close()


@pytest.fixture
def made() -> Iterator[tuple[TimeLeases, list[float]]]:
    with opened() as leases:
        yield leases


def test_a_silent_holder_is_dropped_after_its_time_and_counts_again_when_it_is_back(
    made: tuple[TimeLeases, list[float]],
) -> None:
    leases, wall = made
    leases.received(lease("safety_kernel", NS, "voxel map"))
    assert leases.may_reach(NS)
    assert not leases.may_reach(NS + 1)
    assert leases.waits_for == "safety_kernel: voxel map"
    wall[0] += SILENT_S
    assert not leases.may_reach(NS + 1)
    wall[0] += 0.01
    assert leases.may_reach(NS + 1)
    assert leases.waits_for == ""
    leases.received(lease("safety_kernel", 2 * NS))
    assert not leases.may_reach(2 * NS + 1)


def test_an_unchanged_lease_that_is_repeated_is_kept(made: tuple[TimeLeases, list[float]]) -> None:
    leases, wall = made
    for _ in range(10):
        leases.received(lease("skill_runner", NS))
        wall[0] += SILENT_S - 1.0
        assert not leases.may_reach(NS + 1)
    leases.received(lease("skill_runner", 0))
    assert leases.may_reach(2 * NS)


def test_a_thousand_holders_fill_no_memory_and_stop_no_node_that_came_first(
    made: tuple[TimeLeases, list[float]],
) -> None:
    leases, _ = made
    leases.received(lease("safety_kernel", NS))
    for number in range(1000):
        leases.received(lease(f"somebody{number}", 10 * NS))
    assert len(leases) == MOST_HOLDERS
    assert not leases.may_reach(NS + 1)
    leases.received(lease("safety_kernel", 2 * NS))
    assert leases.may_reach(2 * NS)
    for number in range(1000):
        leases.received(lease(f"somebody{number}", 0))
    assert len(leases) == 1
    leases.received(lease("skill_runner", 3 * NS))
    assert not leases.may_reach(2 * NS + 1), "the kernel's"


@given(
    holder=st.text(max_size=300),
    waits_for=st.text(max_size=300),
    sec=st.integers(-(2**31), 2**31 - 1),
    nanosec=st.integers(0, 2**32 - 1),
    wanted=st.integers(0, 2**62),
)
@settings(max_examples=300, deadline=None)
def test_no_lease_raises(holder: str, waits_for: str, sec: int, nanosec: int, wanted: int) -> None:
    """Bytes come from a bus: any value of any field is possible."""
    with opened() as (leases, wall):
        made = msg.TimeLease(holder=holder, waits_for=waits_for)
        made.until.sec, made.until.nanosec = sec, nanosec
        leases.received(made)
        until = sec * NS + nanosec
        astray = wanted - until > ASTRAY_NS
        assert leases.may_reach(wanted) == (until <= 0 or wanted <= until or astray)
        wall[0] += SILENT_S + 1.0
        assert leases.may_reach(wanted), "nobody stops time for ever"


class Holder:
    """A node with a lease, whose simulated time the test publishes."""

    def __init__(self) -> None:
        self.context = Context(transport=MemoryTransport())
        self.node = Node("runner", context=self.context, parameters={"use_sim_time": True})
        self.sent: list[Any] = []
        self.node.create_subscription(TYPE, TOPIC, self.sent.append, STATE, inline=True)
        self._clock = self.node.create_publisher(msg.Clock, "/clock", CLOCK)
        self.lease = LeaseHolder(self.node, 0.1)

    def tick(self, now_ns: int) -> None:
        self._clock.publish(msg.Clock(clock=time_message(now_ns)))

    def until(self) -> list[int]:
        return [sent.until.sec * NS + sent.until.nanosec for sent in self.sent]


@pytest.fixture
def holder() -> Iterator[Holder]:
    made = Holder()
    yield made
    made.context.close()


def test_a_holder_allows_its_time_and_a_little_more(holder: Holder) -> None:
    assert holder.lease.extend() == ""
    assert not holder.sent, "it has no time yet"
    holder.tick(5 * NS)
    assert holder.lease.extend() == ""
    assert holder.until() == [5 * NS + NS // 10]
    assert holder.sent[0].holder == "runner"
    holder.tick(5 * NS + 1_000_000)
    holder.lease.extend()
    assert len(holder.sent) == 1, "too little for a message"
    holder.tick(5 * NS + 20_000_000)
    holder.lease.extend()
    assert holder.until()[-1] == 5 * NS + 120_000_000
    holder.lease.release()
    holder.lease.release()
    assert holder.until()[2:] == [0], "released once"


def test_the_input_that_gets_stale_first_limits_the_lease(holder: Holder) -> None:
    holder.tick(NS)
    inputs = {"joint states": NS + 40_000_000, "voxel map": NS + 30_000_000, "odometry": 2 * NS}
    assert holder.lease.extend(inputs) == "voxel map"
    assert holder.until() == [NS + 30_000_000]
    assert holder.sent[-1].waits_for == "voxel map"
    assert holder.lease.extend({"odometry": 2 * NS}) == ""
    assert holder.until()[-1] == NS + NS // 10


def test_time_that_goes_back_takes_the_lease_with_it(holder: Holder) -> None:
    holder.tick(9 * NS)
    holder.lease.extend()
    holder.tick(NS)
    holder.lease.extend()
    assert holder.until()[-1] == NS + NS // 10


def test_on_wall_time_nobody_holds_a_lease() -> None:
    context = Context(transport=MemoryTransport())
    node, sent = Node("runner", context=context), list[Any]()
    node.create_subscription(TYPE, TOPIC, sent.append, STATE, inline=True)
    made = LeaseHolder(node, 0.1)
    made.extend({"voxel map": 1})
    made.release()
    made.close()
    assert not sent
    context.close()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 200)), min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_a_simulation_never_gets_further_ahead_than_the_lease(steps: list[tuple[int, int]]) -> None:
    """Holder and simulation together, the holder now and then late by any time."""
    holder = Holder()
    try:
        leases = TimeLeases(lambda: None, lambda: 0.0)
        given: Callable[[Any], None] = leases.received
        holder.node.create_subscription(TYPE, TOPIC, given, STATE, inline=True)
        now = known = NS
        holder.tick(now)
        holder.lease.extend()
        for tells, wants in steps:
            for _ in range(wants):
                if leases.may_reach(now + 4_000_000):
                    now += 4_000_000
            assert now - known <= NS // 10 + 1
            if tells:
                holder.tick(now)
                holder.lease.extend()
                known = now
    finally:
        holder.context.close()
