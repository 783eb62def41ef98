"""Somebody else publishes a /clock: kernel, HAL and world node take the sealed one alone."""

from __future__ import annotations

import time

import numpy as np

from openral.ros.codec import types
from openral.ros.qos import CLOCK
from tests.hal.node_rig import ARMED
from tests.system.graph import repeated
from tests.system.hostile import Hostile
from tests.system.standing import JOINT, Standing


@repeated
def test_a_second_clock_that_is_behind_changes_nothing(waiting: Standing, repetition: int) -> None:
    with Hostile(waiting.graph.domain) as hostile:
        out = hostile.publisher("rosgraph_msgs/msg/Clock", "/clock", CLOCK)
        past = types.new("rosgraph_msgs/msg/Clock")
        past.clock.sec = 1
        waiting.move()
        start = waiting.q.copy()
        hostile.keep_doing(lambda: out.publish(past), 100.0)
        time.sleep(0.5)
        assert waiting.safety.state == ARMED
        assert np.abs(waiting.q - start).max() > 0.01, "the motion under way must go on"
    waiting.wait_at_rest()
    assert waiting.safety.state == ARMED
    waiting.moves_again()


@repeated
def test_a_second_clock_that_runs_ahead_moves_nothing(waiting: Standing, repetition: int) -> None:
    """What is proposed on such a time lies in the kernel's future, and is dropped."""
    waiting.moves_again()
    waiting.wait_at_rest()
    with Hostile(waiting.graph.domain) as hostile:
        out = hostile.publisher("rosgraph_msgs/msg/Clock", "/clock", CLOCK)
        future = types.new("rosgraph_msgs/msg/Clock")
        future.clock.sec = int(waiting.node.now() // 10**9) + 1000
        hostile.keep_doing(lambda: out.publish(future), 200.0)
        with waiting.stands_still():
            for _ in range(10):
                proposal = waiting.swing(JOINT, 0.3)
                proposal.header.stamp = future.clock
                waiting.candidates.publish(proposal)
                time.sleep(0.05)
        assert waiting.safety.state == ARMED
    waiting.moves_again()
