"""An e-stop under a motion, for late joiners, and its end without a jump."""

from __future__ import annotations

import os
import subprocess
import time

from openral.graph import topics
from openral.ros.clock import NS
from openral.ros.codec import types
from openral.ros.stamps import stamp_ns
from tests.hal.node_rig import ESTOPPED, MSGS, STOPPED
from tests.system.graph import OPENRAL, STILL, Observer, repeated
from tests.system.standing import REST_WITHIN_S, Standing, eventually
from tests.system.urgent import urgent

REASON = "cable loose"
ANSWERED_S = 0.5
"""The kernel waits so long for a HAL to acknowledge a stop."""


@repeated
def test_an_event_of_anybody_ends_the_motion(standing: Standing, repetition: int) -> None:
    out = standing.node.create_publisher(f"{MSGS}/EStopEvent", topics.ESTOP, topics.COMMAND)
    eventually(lambda: out.subscriber_count >= 2)
    standing.move()
    event = types.new(f"{MSGS}/EStopEvent", source="button", reason="pressed")
    with urgent():
        at = time.monotonic()
        out.publish(event)
    standing.rests_within(at)
    eventually(lambda: standing.safety.state == ESTOPPED)
    assert standing.safety.source == "button"
    with standing.stands_still():
        eventually(lambda: standing.state.state == STOPPED)
        standing.offer()
    standing.resets_without_a_jump()
    standing.node.destroy_publisher(out)


def stop_by_command(standing: Standing) -> None:
    """`openral estop` while a motion is under way."""
    standing.move(8.0)
    done = subprocess.run(
        [OPENRAL, "estop", "--reason", REASON],
        env={**os.environ, "OPENRAL_DOMAIN": str(standing.graph.domain)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "the HAL has stopped" in done.stdout
    assert (standing.safety.state, standing.safety.detail) == (ESTOPPED, REASON)


@repeated
def test_the_command_ends_the_motion_and_late_joiners_learn_it(
    standing: Standing, repetition: int
) -> None:
    stop_by_command(standing)
    standing.wait_at_rest()
    told = [event for event in standing.heard[topics.ESTOP] if event.reason == REASON][-1]
    assert told.source == "operator"
    at = told.header.stamp.sec * NS + told.header.stamp.nanosec
    last = [pose.stamp_ns for pose in standing.observer.poses if pose.speed > STILL][-1]
    assert (last - at) / NS <= REST_WITHIN_S
    late = Observer(standing.graph.domain)
    try:
        eventually(lambda: late.safety is not None)
        assert (late.safety.state, late.safety.detail) == (ESTOPPED, REASON)
    finally:
        late.close()
    late_hal(standing)
    standing.resets_without_a_jump()


def late_hal(standing: Standing) -> None:
    """A HAL that starts under a stop stops its robot before anything could move it.

    An event may be the first that it receives: then it has stopped already when the kernel's next
    heartbeat gives it the epoch that it acknowledges.
    """
    standing.hal.terminate()
    standing.hal.wait()
    standing.observer.poses.clear()
    states = standing.heard[topics.HAL_STATE]
    states.clear()
    standing.hal = standing.start_hal()
    eventually(lambda: states and states[-1].state == STOPPED)
    with standing.stands_still():
        eventually(lambda: states[-1].stop_epoch == standing.safety.epoch)
    stopped = [state for state in states if state.state == STOPPED]
    assert states[-len(stopped) :] == stopped, "it has stopped for good"
    confirmed = next(state for state in stopped if state.stop_epoch)
    assert (stamp_ns(confirmed) - stamp_ns(stopped[0])) / NS < ANSWERED_S


@repeated
def test_a_stop_is_measured_and_a_reset_does_not_jump(standing: Standing, repetition: int) -> None:
    standing.move()
    standing.rests_within(standing.stop())
    standing.resets_without_a_jump()
