"""The runner's deadlines: strict ones in real time, none where simulated time waits for it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from openral.graph import topics as safety_topics
from openral.ros.actions.goal import GoalStatus
from openral.ros.stamps import stamp_ns
from openral.skill import topics
from tests.hal.node_rig import ARMED
from tests.ros.conftest import wait_until
from tests.skill.live_rig import RunnerGraphRig
from tests.skill.test_runner_faults import manifest

Make = Callable[..., RunnerGraphRig]


def test_a_policy_that_hangs_has_failed_after_its_manifests_time(rig: Make, tmp_path: Path) -> None:
    """The runner alone is strict: HAL and kernel must not miss a beat meanwhile."""
    made = rig("so101_follower")
    made.start_all("bare", "real_time=true")
    made.still()
    begun = time.monotonic()
    status, result = made.run(manifest(tmp_path, "hangs", 0.5), after=2)
    assert (status, result.reason) == (GoalStatus.ABORTED, "policy_failed"), result
    assert "no answer within 0.5 s" in result.message
    assert time.monotonic() - begun > 0.5
    made.still()
    wait_until(lambda: made.failures)
    assert made.failures[-1].reason == "policy_failed"
    assert made.safety.state == ARMED  # a policy's fault is no reason to stop the kernel


def test_simulated_time_waits_for_a_runner_that_is_frozen_for_two_seconds(rig: Make) -> None:
    made = rig("ur5e")
    made.start_all("bare")
    runner = made.processes[-1]
    goal, _ = made.under_way("wave", 2, rows=10, size=0.02, after=999)
    ended = goal.get_result_async()
    time_ns = made.node.now
    runner.send_signal(signal.SIGSTOP)
    try:
        stalled = wait_until(lambda: made.node.clock.simulated.silent_for_s() > 0.5, 20.0)
        at = time_ns()
        time.sleep(2.0)
        assert stalled and time_ns() == at
    finally:
        runner.send_signal(signal.SIGCONT)
    applied = len(made.heard[topics.APPLIED])
    wait_until(lambda: ended.done() or len(made.heard[topics.APPLIED]) > applied + 30, 60.0)
    assert not ended.done(), ended.result()
    states = made.heard[safety_topics.SAFETY_STATE]
    assert {state.state for state in states if stamp_ns(state) >= at} == {ARMED}
    assert not made.heard[safety_topics.ESTOP]
    assert not made.failures
    assert goal.cancel(10.0)
    assert goal.get_result(60.0)[1].reason == "cancelled"
