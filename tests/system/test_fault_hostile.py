"""Somebody else on the bus: forged, replayed and reordered actions, and a flood of proposals."""

from __future__ import annotations

import time

import numpy as np

from openral.graph import topics
from openral.graph.run_key import RunKey
from openral.graph.seal import Seal
from openral.manifest import ControlMode
from openral.ros.codec import types
from tests.hal.chunks import joint_chunk
from tests.hal.node_rig import ARMED, ESTOPPED, HOLDING, MSGS
from tests.ros.conftest import wait_until
from tests.system.flood import Flood
from tests.system.graph import repeated
from tests.system.hostile import Hostile
from tests.system.standing import JOINT, NO_JUMP, Standing, eventually


def sealed(standing: Standing, key: RunKey, *numbers: int, by: float = 0.4) -> list[bytes]:
    """Actions with these numbers ahead of the kernel's, approved just now."""
    now = standing.node.now()
    made = []
    for number in numbers:
        seal = Seal(key, standing.safety.epoch)
        seal.sequence = standing.safety.sequence + number - 1
        made.append(seal.seal(types.encode(standing.swing(JOINT, by, 0.5)), now, now + 100_000_000))
    return made


def finished_move(standing: Standing) -> list[bytes]:
    """Overhears a motion that the kernel approves; returns once it has ended."""
    overheard: list[bytes] = []
    ear = standing.node.create_subscription(
        f"{MSGS}/SafeAction", topics.SAFE_ACTION, overheard.append, topics.COMMAND, raw=True
    )
    wait_until(lambda: ear.publisher_count)
    standing.moves_again()
    eventually(lambda: overheard)
    standing.wait_at_rest()
    standing.node.destroy_subscription(ear)
    return overheard


@repeated
def test_forged_and_replayed_actions_move_nothing(standing: Standing, repetition: int) -> None:
    overheard = finished_move(standing)
    with Hostile(standing.graph.domain) as hostile:
        out = hostile.publisher(f"{MSGS}/SafeAction", topics.SAFE_ACTION, topics.COMMAND)
        standing.arm()
        before = standing.state
        with standing.stands_still():
            for payload in sealed(standing, RunKey.create(), 1, 2, 1000):
                out.publish_bytes(payload)
            for payload in [*overheard, *reversed(overheard)]:
                out.publish_bytes(payload)
            eventually(lambda: standing.state.bad_mac >= before.bad_mac + 3)
            replays = 2 * len(overheard)
            eventually(lambda: standing.state.replayed >= before.replayed + replays)
    assert standing.state.sequence == before.sequence
    standing.moves_again()


@repeated
def test_an_action_that_was_overtaken_is_not_executed(standing: Standing, repetition: int) -> None:
    """The run's own key, and a network that delivers in another order."""
    standing.moves_again()
    standing.wait_at_rest()
    try:
        overtake(standing)
    finally:
        # The kernel's own numbers are behind by now, and refused: only a new kernel is heard.
        standing.kernel.kill()
        old = standing.safety.epoch
        standing.kernel = standing.start_kernel()
        eventually(lambda: standing.safety.epoch != old)
    standing.moves_again()


def overtake(standing: Standing) -> None:
    with Hostile(standing.graph.domain) as hostile:
        out = hostile.publisher(f"{MSGS}/SafeAction", topics.SAFE_ACTION, topics.COMMAND)
        standing.arm()
        before, place = standing.state, standing.q
        (later,) = sealed(standing, standing.key, 1000, by=-0.1)
        (earlier,) = sealed(standing, standing.key, 500, by=0.4)
        out.publish_bytes(later)
        out.publish_bytes(earlier)
        eventually(lambda: standing.state.replayed > before.replayed)
        # The kernel has approved neither, and stops what the HAL says that it executes.
        eventually(lambda: standing.safety.state == ESTOPPED)
        assert standing.safety.reason == "unknown_action"
        standing.wait_at_rest()
        assert standing.q[0] - place[0] < NO_JUMP, "the overtaken action was executed"


@repeated
def test_a_flood_of_forged_actions_disturbs_no_motion(standing: Standing, repetition: int) -> None:
    fake = sealed(standing, RunKey.create(), 1)[0]
    with Hostile(standing.graph.domain) as hostile:
        out = hostile.publisher(f"{MSGS}/SafeAction", topics.SAFE_ACTION, topics.COMMAND)
        hostile.keep_doing(lambda: out.publish_bytes(fake), 1000.0, burst=5)
        standing.moves_again()
        assert hostile.sent > 100


def stops(standing: Standing) -> None:
    """In full motion it is stopped: in time, and for good."""
    standing.rests_within(standing.stop())
    assert standing.safety.state == ESTOPPED
    place = standing.q
    time.sleep(0.3)
    assert np.abs(standing.q - place).max() <= NO_JUMP


@repeated
def test_under_a_flood_of_proposals_motions_and_stops_still_work(
    standing: Standing, repetition: int
) -> None:
    """5,000 a second, each of them old: none is executed, all must be handled."""
    standing.arm()
    dropped = standing.safety.dropped

    def move_and_stop() -> None:
        standing.move()
        stops(standing)

    with Flood(standing.node, standing.graph.domain, standing.swing(JOINT, 0.5)) as flood:
        flood.during(move_and_stop)
    eventually(lambda: standing.safety.dropped > dropped + 100)
    standing.resets_without_a_jump()
    assert standing.safety.state == ARMED
    eventually(lambda: standing.state.state == HOLDING)


@repeated
def test_a_flood_of_fresh_proposals_cannot_outrun_a_stop(
    standing: Standing, repetition: int
) -> None:
    """5,000 a second, each stamped as it is sent and fit to pass: they move the robot until it is
    stopped, and never again before a reset."""
    standing.arm()
    speeds = np.zeros((10, len(standing.robot.driven)))
    speeds[:, 0] = 0.6 if standing.q[0] < standing.robot.home_position[0] else -0.6
    drift = joint_chunk(speeds, dt=0.02, mode=ControlMode.JOINT_VELOCITY)

    def drift_and_stop() -> None:
        standing.arm()
        eventually(standing.is_fast)
        stops(standing)

    with Flood(standing.node, standing.graph.domain, drift, fresh=True) as flood:
        flood.during(drift_and_stop)
    standing.resets_without_a_jump()
