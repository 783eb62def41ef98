"""Somebody else tells the graph the time."""

from __future__ import annotations

import time

from openral.ros import types
from openral.ros.qos import CLOCK
from tests.hal.node_rig import ESTOPPED, STRICT
from tests.system.graph import repeated
from tests.system.hostile import Hostile
from tests.system.standing import JOINT, Standing, eventually


@repeated
def test_a_clock_that_goes_back_stops_the_robot(standing: Standing, repetition: int) -> None:
    """Said again and again: only the newest time counts, and one alone may go unheard."""
    with Hostile(standing.graph.domain) as hostile:
        out = hostile.publisher("rosgraph_msgs/msg/Clock", "/clock", CLOCK)
        past = types.new("rosgraph_msgs/msg/Clock")
        past.clock.sec = 1
        standing.move()
        at = time.monotonic()
        hostile.keep_doing(lambda: out.publish(past), 100.0)
        eventually(lambda: standing.safety.state == ESTOPPED)
        if STRICT:  # elsewhere simulated time stands still as long as somebody sets it back
            standing.rests_within(at)
            with standing.stands_still():
                standing.offer()
    standing.rests_within(at)
    with standing.stands_still():
        standing.offer()
    standing.resets_without_a_jump()


@repeated
def test_a_clock_that_runs_ahead_moves_nothing(standing: Standing, repetition: int) -> None:
    """What is approved on such a time has not come yet for the HAL, or its state is too old."""
    standing.moves_again()
    standing.wait_at_rest()
    with Hostile(standing.graph.domain) as hostile:
        out = hostile.publisher("rosgraph_msgs/msg/Clock", "/clock", CLOCK)
        future = types.new("rosgraph_msgs/msg/Clock")
        future.clock.sec = int(standing.node.now() // 10**9) + 1000
        hostile.keep_doing(lambda: out.publish(future), 200.0)
        with standing.stands_still():
            for _ in range(10):
                proposal = standing.swing(JOINT, 0.3)
                proposal.header.stamp = future.clock
                standing.candidates.publish(proposal)
                time.sleep(0.05)
        eventually(lambda: standing.safety.state == ESTOPPED)
    standing.resets_without_a_jump()
