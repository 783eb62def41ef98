"""The simulated clock between threads: /clock on one, stamps of its owner on another."""

from __future__ import annotations

import threading

from openral.ros.clock import Jump, SimClock

ROUNDS = 20_000


def test_a_stamp_of_its_owner_never_makes_time_go_back() -> None:
    """/clock may be heard a little later than a joint state of the same moment."""
    clock, jumps = SimClock(), list[Jump]()
    clock.on_jump(jumps.append)
    clock.update(1)
    over = threading.Event()

    def owner() -> None:
        while not over.is_set():
            clock.advance(clock.now_ns() + 1_000)

    thread = threading.Thread(target=owner)
    thread.start()
    for tick in range(ROUNDS):
        clock.update(2 + tick)
    over.set()
    thread.join()
    assert jumps == []


def test_what_it_was_advanced_to_stays_and_clock_itself_may_go_back() -> None:
    clock, jumps = SimClock(), list[Jump]()
    clock.on_jump(jumps.append)
    clock.update(1_000)
    clock.advance(1_500)
    clock.update(1_200)
    assert clock.now_ns() == 1_500
    assert jumps == []
    clock.update(1_100)
    assert jumps == [Jump(1_500, 1_100)]
    assert clock.now_ns() == 1_100


def test_a_stamp_far_ahead_is_not_believed() -> None:
    clock = SimClock()
    clock.advance(5)
    assert not clock.ready
    clock.update(1)
    clock.advance(10**9)
    assert clock.now_ns() == 1
