"""Wall and simulated time: nodes, timers and rates follow one clock, and its absence is told."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openral.errors import ConfigError
from openral.ros.clock import NS, Clock, Jump, SimClock
from openral.ros.codec import types
from openral.ros.lifecycle.machine import Outcome, State
from openral.ros.lifecycle.node import LifecycleNode
from openral.ros.node.clock_publisher import ClockPublisher
from openral.ros.node.timer import Rate, Timer
from openral.ros.parameters.store import Parameter
from openral.ros.qos import CLOCK
from openral.ros.rate_meter import RateMeter
from openral.ros.stamps import time_message

SIM = {"use_sim_time": True}


class Simulator:
    """Publishes /clock when told to, even backwards."""

    def __init__(self, node: Any) -> None:
        self.publisher = node.create_publisher("rosgraph_msgs/msg/Clock", "/clock", CLOCK)

    def tell(self, seconds: float) -> None:
        stamp = time_message(round(seconds * NS))
        self.publisher.publish(types.new("rosgraph_msgs/msg/Clock", clock=stamp))


@pytest.mark.parametrize("apart", [False, True])
def test_now_follows_the_clock(graph: Any, until: Any, apart: bool) -> None:
    node = graph.node("sim_user", parameters=SIM)
    simulator = Simulator(graph.node("simulator", apart=apart))
    until(lambda: simulator.publisher.has_subscribers)
    assert node.now() == 0 and not node.clock.ready
    simulator.tell(12.5)
    until(lambda: node.now() == 12_500_000_000)
    assert (node.stamp().sec, node.stamp().nanosec) == (12, 500_000_000)


def test_the_clock_publisher_never_goes_back(graph: Any) -> None:
    node = graph.node("sim_user", parameters=SIM)
    clock = ClockPublisher(graph.node("simulator"))
    assert [clock.publish(ns) for ns in (0, 5, 5, 3, 7)] == [True, True, False, False, True]
    assert node.now() == 7


def test_use_sim_time_can_be_switched(graph: Any) -> None:
    node = graph.node("switch")
    simulator = Simulator(graph.node("simulator"))
    assert node.now() > 10**18
    node.set_parameters([Parameter("use_sim_time", True)])
    simulator.tell(3.0)
    assert node.now() == 3 * NS
    node.set_parameters([Parameter("use_sim_time", False)])
    assert node.now() > 10**18


def test_timers_follow_simulated_time_exactly(graph: Any, until: Any) -> None:
    node = graph.node("sim_user", parameters=SIM)
    simulator = Simulator(graph.node("simulator"))
    fired: list[int] = []
    simulator.tell(100.0)
    node.create_timer(0.5, lambda: fired.append(node.now()))
    for tick in range(1, 9):
        simulator.tell(100.0 + tick * 0.25)
        if tick % 2 == 0:
            until(lambda count=tick // 2: len(fired) == count)
    assert fired == [int((100.0 + 0.5 * n) * NS) for n in (1, 2, 3, 4)]
    simulator.tell(150.0)
    until(lambda: len(fired) == 5)  # one call, not a hundred made up for
    simulator.tell(1.0)
    simulator.tell(1.5)
    until(lambda: len(fired) == 6)  # the period starts anew after a jump back


def test_timers_wait_for_the_first_clock(graph: Any, until: Any) -> None:
    node = graph.node("sim_user", parameters=SIM)
    fired: list[int] = []
    node.create_timer(0.01, lambda: fired.append(node.now()))
    wall = graph.node("wall")
    beats: list[int] = []
    wall.create_timer(0.01, lambda: beats.append(1))
    until(lambda: len(beats) > 10)
    assert not fired
    simulator = Simulator(graph.node("simulator"))
    simulator.tell(5.0)
    simulator.tell(5.02)
    until(lambda: fired)


def test_backward_jumps_are_announced(graph: Any) -> None:
    node = graph.node("sim_user", parameters=SIM)
    simulator = Simulator(graph.node("simulator"))
    jumps: list[Jump] = []
    take_back = node.clock.on_jump(jumps.append)
    for seconds in (1.0, 2.0, 2.0, 1.5, 3.0):
        simulator.tell(seconds)
    assert jumps == [Jump(2 * NS, 1_500_000_000)]
    take_back()
    simulator.tell(1.0)
    assert len(jumps) == 1


def test_a_stamp_told_again_is_no_sign_that_time_goes_on() -> None:
    clock = SimClock()
    clock.update(5 * NS)
    time.sleep(0.05)
    clock.update(5 * NS)
    assert clock.silent_for_s() >= 0.05
    clock.update(5 * NS + 1)
    assert clock.silent_for_s() < 0.05


def test_a_missing_clock_is_reported_and_keeps_a_node_inactive(
    graph: Any, until: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    class Impatient(LifecycleNode):
        clock_wait_s = 0.2

    node = graph.node("managed", kind=Impatient, parameters=SIM)
    assert node.trigger("configure") is Outcome.SUCCESS
    assert node.trigger("activate") is Outcome.FAILURE
    assert node.state is State.INACTIVE
    assert "/clock was never heard" in node.failure_reason
    text = ""

    def reported() -> bool:
        nonlocal text
        text += capfd.readouterr().err
        return "/clock is silent" in text

    until(reported)
    simulator = Simulator(graph.node("simulator"))
    simulator.tell(1.0)
    assert node.trigger("activate") is Outcome.SUCCESS


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=60), st.integers(1, 10**5))
def test_a_timer_fires_once_for_every_period_reached(steps: list[int], period: int) -> None:
    clock, simulated = Clock(), SimClock()
    clock.simulated = simulated
    simulated.update(1)
    timer = Timer(period / NS, lambda: None, clock)
    now, last = 1, 1
    for step in steps:
        now += step
        simulated.update(now)
        due = (now - 1) // period > (last - 1) // period
        assert timer.take_due() == due
        assert not timer.take_due()
        last = now


def test_rates_follow_simulated_time() -> None:
    clock, simulated = Clock(), SimClock()
    clock.simulated = simulated
    simulated.update(NS)
    rate = Rate(10.0, clock)
    ticks: list[int] = []

    def worker() -> None:
        for _ in range(3):
            rate.sleep(20.0)
            ticks.append(clock.now_ns())

    thread = threading.Thread(target=worker)
    thread.start()
    for step in range(1, 31):
        while len(ticks) < step // 10 and thread.is_alive():
            simulated.update(NS + step * NS // 100)
        simulated.update(NS + step * NS // 100)
    thread.join(20.0)
    assert ticks == [1_100_000_000, 1_200_000_000, 1_300_000_000]


def test_a_rate_without_a_clock_gives_up_in_wall_time() -> None:
    clock = Clock()
    clock.simulated = SimClock()
    assert Rate(10.0, clock).sleep(0.05) is False


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_wrong_periods_and_rates_are_refused(value: float) -> None:
    with pytest.raises(ConfigError, match="must be above 0"):
        Timer(value, lambda: None, Clock())
    with pytest.raises(ConfigError, match="must be above 0"):
        Rate(value, Clock())


@given(st.floats(0.5, 2000.0), st.integers(2, 200))
def test_the_meter_measures_a_steady_rate(hz: float, count: int) -> None:
    meter = RateMeter()
    for number in range(count):
        meter.tick(round(number * NS / hz))
    report = meter.report()
    assert report is not None
    assert report.hz == pytest.approx(hz, rel=1e-6)
    assert report.count == count


def test_the_meter_starts_anew_when_time_goes_back() -> None:
    meter = RateMeter()
    for stamp in (10 * NS, 11 * NS, 1 * NS, 2 * NS, 3 * NS):
        meter.tick(stamp)
    report = meter.report()
    assert report is not None and report.hz == pytest.approx(1.0) and report.count == 3
