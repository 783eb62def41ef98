"""A node freezes or dies under a motion and comes back: nothing moves before a reset."""

from __future__ import annotations

import signal
import time

from openral.graph import topics
from tests.hal.node_rig import ARMED, ESTOPPED, HOLDING, STOPPED
from tests.system.graph import repeated
from tests.system.standing import JOINT, Standing, eventually


@repeated
def test_a_frozen_kernel_comes_back_unarmed(standing: Standing, repetition: int) -> None:
    standing.move()
    began, _ = standing.frozen(standing.kernel, 0.6)
    with standing.stands_still():
        standing.offer()
        eventually(lambda: standing.safety.state == ESTOPPED)
        eventually(lambda: standing.state.state == STOPPED)
    standing.rests_within(began)
    standing.resets_without_a_jump()


@repeated
def test_a_killed_kernel_comes_back_unarmed(standing: Standing, repetition: int) -> None:
    standing.move()
    standing.rests_within(standing.signal(standing.kernel, signal.SIGKILL))
    assert standing.state.state == HOLDING
    old = standing.safety.epoch
    with standing.stands_still():
        standing.kernel = standing.start_kernel()
        eventually(lambda: standing.safety.epoch != old and standing.candidates.has_subscribers)
        assert standing.safety.state != ARMED
        standing.offer()
    standing.resets_without_a_jump()


@repeated
def test_a_frozen_hal_goes_on_in_a_hold(standing: Standing, repetition: int) -> None:
    """With it the clock stands still: what is proposed meanwhile is dropped.

    Where simulated time waits, that is so only after the ten seconds after which DDS itself has
    given the frozen participant up.
    """
    standing.move()
    standing.signal(standing.hal, signal.SIGSTOP)
    try:
        eventually(lambda: standing.propose(standing.swing(JOINT, 0.3)).reason == "clock_stalled")
    finally:
        ended = standing.signal(standing.hal, signal.SIGCONT)
    standing.rests_within(ended)
    eventually(lambda: standing.safety.state == ESTOPPED)
    assert standing.safety.reason == "hal"
    with standing.stands_still():
        eventually(lambda: standing.state.state == STOPPED)
    standing.resets_without_a_jump()


@repeated
def test_a_killed_hal_comes_back_and_holds(standing: Standing, repetition: int) -> None:
    standing.move()
    standing.hal.kill()
    standing.hal.wait()
    states = standing.heard[topics.JOINT_STATES]
    states.clear()
    standing.observer.poses.clear()
    standing.hal = standing.start_hal()
    eventually(lambda: states)
    with standing.stands_still():
        time.sleep(0.3)
    assert standing.state.state != 1
    assert standing.safety.state != ARMED
    standing.resets_without_a_jump()
