"""The kernel node as a process: what passes, what stops, and who hears of it."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from openral.graph import topics
from openral.graph.run_key import RunKey
from openral.graph.seal import Gatekeeper, Seal
from openral.manifest.control import ControlMode
from openral.manifest.library import robot_path
from openral.ros.codec import types
from openral.safety.cases.case import parse_case
from openral.safety.cases.explain import explain
from tests.hal.node_rig import HOLDING
from tests.ros.conftest import Graph, wait_until
from tests.safety.kernel_rig import (
    ACCEPTED,
    ARMED,
    DROPPED,
    ESTOPPED,
    HOME,
    IDLE,
    MSGS,
    PLUNGE,
    RECOVERY,
    REJECTED,
    ROBOT,
    SLOWED,
    Rig,
    hand,
)


def test_a_clear_candidate_becomes_a_sealed_action(rig: Rig) -> None:
    rig.start_ready()
    assert rig.state.state == IDLE
    idle = rig.propose(rig.stay())
    assert (idle.status, idle.reason) == (DROPPED, "not_armed")
    assert not rig.safe
    rig.arm()
    proposal = rig.stay(sequence=42)
    verdict = rig.propose(proposal)
    assert (verdict.status, verdict.reason, verdict.sequence) == (ACCEPTED, "clear", 42)
    assert bytes(verdict.trace_id) == bytes(proposal.trace_id)
    wait_until(lambda: rig.safe)
    action = rig.gatekeeper.check(rig.safe[0])
    assert types.encode(action.chunk) == types.encode(proposal)
    assert action.epoch == rig.state.epoch
    assert rig.gatekeeper.check(rig.safe[0]) is None
    assert rig.gatekeeper.refused.replayed == 1
    forged = Seal(RunKey.create(), action.epoch + 1).seal(
        types.encode(proposal), rig.node.now(), rig.node.now() + 10**9
    )
    assert rig.gatekeeper.check(forged) is None
    assert rig.gatekeeper.refused.bad_mac == 1
    assert Gatekeeper(RunKey.create(), rig.node.now).check(rig.safe[0]) is None
    stale = rig.stay()
    stale.header = rig.header(stamp_ns=rig.node.now() - 10**9)
    old = rig.propose(stale)
    assert (old.status, old.reason) == (DROPPED, "candidate_stale")
    assert rig.state.state == ARMED


def test_a_refused_candidate_latches_and_late_joiners_learn_it(rig: Rig, graph: Graph) -> None:
    rig.start_armed()
    verdict = rig.propose(rig.plunge())
    assert (verdict.status, verdict.reason) == (REJECTED, "position_limit")
    assert verdict.link in ROBOT.joint_names
    wait_until(lambda: rig.state.state == ESTOPPED and rig.failures and rig.events)
    assert (rig.state.source, rig.state.reason) == ("kernel", "position_limit")
    assert rig.events[0].source == "kernel"
    assert not rig.safe
    again = rig.propose(rig.stay())
    assert (again.status, again.reason) == (DROPPED, "estopped")
    heard: list[Any] = []
    late = graph.node("late", apart=True)
    late.create_subscription(
        f"{MSGS}/SafetyState", topics.SAFETY_STATE, heard.append, topics.LATCHED
    )
    wait_until(lambda: heard)
    assert heard[0].state == ESTOPPED
    failure = next(f for f in rig.failures if f.reason == "position_limit")
    evidence = json.loads(failure.evidence)
    assert evidence["state"][ROBOT.joint_names[0]]["position"] == pytest.approx(HOME[0])
    assert np.allclose(evidence["chunk"]["slots"][0]["rows"], PLUNGE)
    rig.arm()
    assert rig.propose(rig.stay()).status == ACCEPTED


def test_evidence_can_be_looked_at_again(rig: Rig) -> None:
    rig.start_ready()
    rig.node.create_wall_timer(0.1, lambda: rig.balls((0.6, 0.0, 0.2)))
    rig.arm()
    verdict = rig.propose(rig.plunge())
    wait_until(lambda: rig.failures)
    told = explain(parse_case(rig.failures[-1].evidence, ROBOT), ROBOT)
    assert told["status"] == verdict.reason
    assert told["text"] == verdict.detail


def test_anybody_can_stop_and_only_a_reset_arms(rig: Rig) -> None:
    rig.start_armed()
    stop = types.new(f"{MSGS}/EStopEvent", source="button", reason="pressed")
    rig.node.create_publisher(f"{MSGS}/EStopEvent", topics.ESTOP, topics.COMMAND).publish(stop)
    wait_until(lambda: rig.state.state == ESTOPPED)
    assert (rig.state.source, rig.state.detail) == ("button", "pressed")
    rig.arm()
    answer = rig.call("openral_msgs/srv/EStop", topics.ESTOP, source="", reason="test")
    assert answer.success and not answer.applied
    assert "no HAL has answered" in answer.message
    assert rig.state.source == "operator"
    hal = rig.sealed(f"{MSGS}/HalState", topics.HAL_STATE, topics.STATE)
    rig.node.create_wall_timer(
        0.02,
        lambda: hal.publish(
            types.new(
                f"{MSGS}/HalState", state=2, stop_epoch=rig.state.epoch, stop_beat=rig.state.beat
            )
        ),
    )
    wait_until(lambda: hal.has_subscribers)
    answer = rig.call("openral_msgs/srv/EStop", topics.ESTOP, source="", reason="again")
    assert (answer.success, answer.applied) == (True, True)
    assert rig.state.detail == "test"  # the first reason stays
    rig.speaking = False
    wait_until(lambda: "measured" in rig.trigger(topics.RESET).message)
    rig.speaking = True
    rig.arm()


def test_killed_and_restarted_it_does_not_arm_itself(rig: Rig) -> None:
    process = rig.start_armed()
    rig.propose(rig.stay())
    wait_until(lambda: rig.safe)
    first = rig.gatekeeper.check(rig.safe.pop())
    process.kill()
    process.wait(10)
    time.sleep(0.3)  # for what was still under way
    beats = len(rig.states)
    time.sleep(0.3)
    assert len(rig.states) == beats
    rig.start_ready()
    wait_until(lambda: rig.state.epoch > first.epoch)
    assert rig.state.state == IDLE

    def judged() -> bool:  # it may not have discovered all of us yet
        rig.candidates.publish(rig.stay())
        return any(v.reason == "not_armed" for v in rig.verdicts)

    wait_until(judged)
    rig.arm()
    assert rig.propose(rig.stay()).status == ACCEPTED
    wait_until(lambda: rig.safe)
    second = rig.gatekeeper.check(rig.safe[-1])
    assert second.sequence == 1 and second.epoch > first.epoch


def test_a_frozen_kernel_falls_silent(rig: Rig) -> None:
    process = rig.start_ready()
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.2)
    beats = len(rig.states)
    time.sleep(0.5)
    assert len(rig.states) == beats
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: len(rig.states) > beats)


def test_a_flood_starves_neither_heartbeat_nor_services(rig: Rig) -> None:
    rig.start_armed()
    flood, payload = rig.candidates.publish_bytes, types.encode(rig.stay())
    began, gaps, beat_at, beats = time.monotonic(), [0.0], time.monotonic(), len(rig.states)
    sent = 0
    while time.monotonic() - began < 1.5:
        for _ in range(25):
            flood(payload)
        sent += 25
        if len(rig.states) > beats:
            gaps.append(time.monotonic() - beat_at)
            beats, beat_at = len(rig.states), time.monotonic()
        time.sleep(max(0.0, began + sent / 5000 - time.monotonic()))
    answer = rig.call("openral_msgs/srv/EStop", topics.ESTOP, source="", reason="enough")
    assert answer.success
    assert sent > 2000 and len(gaps) > 15
    wait_until(lambda: any(f.reason == "flood" for f in rig.failures))
    wait_until(lambda: rig.state.dropped > 100)
    assert rig.state.accepted < 1000


def proven_for(folder: Path, seconds: float) -> Path:
    """The manifest of a Panda whose torque is proven for so long at a time."""
    data = yaml.safe_load(robot_path("franka_panda").read_text())
    data.setdefault("safety", {})["recheck_s"] = seconds
    path = folder / "panda.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_a_motion_proven_for_a_while_is_proven_again_on_its_way(rig: Rig, tmp_path: Path) -> None:
    rig.start_armed(robot=proven_for(tmp_path, 0.4))
    limp = [0.0] * len(ROBOT.driven)
    first = rig.propose(rig.moved(ControlMode.JOINT_TORQUE, limp, 8, 0.1))
    assert first.status == ACCEPTED, first.detail
    time.sleep(1.1)
    assert rig.state.state == ARMED, rig.state.detail
    assert rig.propose(rig.moved(ControlMode.JOINT_TORQUE, limp, 100, 0.1)).status == ACCEPTED
    time.sleep(0.8)
    assert rig.state.state == ARMED, rig.state.detail
    rig.balls(hand())
    wait_until(lambda: rig.state.state == ESTOPPED)
    assert rig.state.reason == "world_collision"
    assert "under way" in rig.state.detail
    wait_until(lambda: rig.failures)
    told = explain(parse_case(rig.failures[-1].evidence, ROBOT), ROBOT)
    assert told["status"] == "world_collision"


def test_a_motion_that_has_ended_is_not_judged_any_more(rig: Rig, tmp_path: Path) -> None:
    rig.start_armed(robot=proven_for(tmp_path, 1.0))
    hal = rig.sealed(f"{MSGS}/HalState", topics.HAL_STATE, topics.STATE)
    limp = [0.0] * len(ROBOT.driven)

    wait_until(lambda: hal.has_subscribers)

    verdict = rig.propose(rig.moved(ControlMode.JOINT_TORQUE, limp, 100, 0.1))
    assert verdict.status == ACCEPTED, verdict.detail
    action: Any = types.decode(f"{MSGS}/SafeAction", wait_until(lambda: rig.safe)[-1])
    ended = types.new(
        f"{MSGS}/HalState",
        header=rig.header(),
        state=HOLDING,
        reason="finished",
        epoch=action.epoch,
        sequence=action.sequence,
    )
    hal.publish(ended)
    time.sleep(0.5)
    assert rig.state.state == ARMED, rig.state.detail
    rig.balls(hand())  # what would stop a motion under way
    time.sleep(0.5)
    assert rig.state.state == ARMED, rig.state.detail


def test_a_clock_that_stands_still_ends_a_motion_proven_for_a_while(
    graph: Graph, tmp_path: Path
) -> None:
    rig = Rig(graph, simulated=True)
    try:
        rig.start_armed("real_time=true", robot=proven_for(tmp_path, 1.0))
        limp = [0.0] * len(ROBOT.driven)
        assert rig.propose(rig.moved(ControlMode.JOINT_TORQUE, limp, 100, 0.1)).status == ACCEPTED
        rig.ticking = False
        wait_until(lambda: rig.state.state == ESTOPPED)
        assert rig.state.reason == "clock_stalled"
    finally:
        rig.close()


def test_a_motion_whose_proof_cannot_be_renewed_is_held_or_else_stopped(
    rig: Rig, tmp_path: Path
) -> None:
    rig.start_armed(robot=proven_for(tmp_path, 1.0))
    limp = [0.0] * len(ROBOT.driven)
    assert rig.propose(rig.moved(ControlMode.JOINT_TORQUE, limp, 100, 0.1)).status == ACCEPTED
    wait_until(lambda: rig.safe)
    rig.speaking = False
    wait_until(lambda: len(rig.safe) > 1)
    told = [rig.gatekeeper.check(payload) for payload in rig.safe][-1]
    assert told is not None and told.chunk.rows == 0
    # No HAL says that it holds: the motion must not outlast its proof.
    wait_until(lambda: rig.state.state == ESTOPPED)
    assert rig.state.reason == "recheck_late"


def test_a_cartesian_candidate_is_sealed_as_the_joint_rows_that_were_proven(rig: Rig) -> None:
    rig.start_armed()
    asked = rig.moved(ControlMode.CARTESIAN_TWIST, [0.0, 0.02, 0.0, 0.0, 0.0, 0.0], 100, 0.05)
    verdict = rig.propose(asked)
    assert verdict.status == ACCEPTED, verdict.detail
    wait_until(lambda: rig.safe)
    action = rig.gatekeeper.check(rig.safe[-1])
    assert action is not None
    done = action.chunk
    assert (done.sequence, done.dt, done.rows) == (asked.sequence, asked.dt, asked.rows)
    assert bytes(done.trace_id) == bytes(asked.trace_id)
    assert done.control_mode == ControlMode.JOINT_VELOCITY.byte
    arm = [joint.name for joint in ROBOT.driven if joint.role == "arm"]
    assert list(done.slots[0].joint_names) == arm
    time.sleep(0.5)  # proven to its end: nothing is checked again on its way
    assert rig.state.state == ARMED, rig.state.detail


def test_a_slowed_candidate_says_so_and_takes_its_time(rig: Rig, tmp_path: Path) -> None:
    data = yaml.safe_load(robot_path("franka_panda").read_text())
    data["safety"]["slow_distance_m"] = 0.3
    path = tmp_path / "panda.yaml"
    path.write_text(yaml.safe_dump(data))
    rig.start_armed(robot=path)
    rig.node.create_wall_timer(0.1, lambda: rig.balls(np.add(hand(), [0.35, 0.0, 0.0])))
    asked = rig.moved(ControlMode.CARTESIAN_TWIST, [0.1, 0.0, 0.0, 0.0, 0.0, 0.0], 4, 0.1)

    def slowed() -> bool:
        asked.header = rig.header()
        return bool(rig.propose(asked).status == SLOWED)

    wait_until(slowed)
    verdict = rig.verdicts[-1]
    assert verdict.reason == "slowed" and verdict.hit == "ball0"
    assert 0.25 <= verdict.speed_factor < 1.0
    action = [rig.gatekeeper.check(payload) for payload in rig.safe][-1]
    assert action is not None
    assert action.speed_factor == verdict.speed_factor
    assert action.chunk.dt == pytest.approx(0.1 / verdict.speed_factor)


def test_recovery(rig: Rig) -> None:
    rig.start_ready()
    rig.node.create_wall_timer(0.1, lambda: rig.balls(hand()))
    refused = rig.call("std_srvs/srv/SetBool", topics.RECOVER, data=False)
    assert not refused.success and "IDLE" in refused.message
    wait_until(lambda: "use recover" in rig.trigger(topics.RESET).message)
    assert "ARMED" in rig.call("std_srvs/srv/SetBool", topics.RECOVER, data=True).message
    verdict = rig.propose(rig.stay())
    assert (verdict.status, verdict.reason, verdict.hit) == (REJECTED, "world_collision", "ball0")
    assert rig.call("std_srvs/srv/SetBool", topics.RECOVER, data=True).success
    wait_until(lambda: rig.state.state == RECOVERY)
    still = rig.propose(rig.stay())
    assert (still.status, still.reason) == (DROPPED, "recovery")
    assert rig.call("std_srvs/srv/SetBool", topics.RECOVER, data=False).success
    wait_until(lambda: rig.state.state == ESTOPPED)


def test_a_stalled_clock_drops_and_a_backward_one_stops(graph: Graph) -> None:
    rig = Rig(graph, simulated=True)
    try:
        rig.start_armed("real_time=true")
        assert rig.propose(rig.stay()).status == ACCEPTED
        rig.ticking = False

        def stalled() -> bool:
            time.sleep(0.05)
            return bool(rig.propose(rig.stay()).reason == "clock_stalled")

        wait_until(stalled)
        assert "stood still" in rig.trigger(topics.RESET).message
        beats = len(rig.states)
        wait_until(lambda: len(rig.states) > beats + 5)  # the heart beats on
        assert rig.state.state == ARMED
        rig.ticking = True
        wait_until(lambda: rig.propose(rig.stay()).status == ACCEPTED)
        rig.speaking = False
        rig.sim_ns -= 5 * 10**9
        wait_until(lambda: rig.state.state == ESTOPPED)
        assert rig.state.reason == "clock_back"
        verdict = rig.propose(rig.stay())
        assert verdict.status == DROPPED
        assert not rig.trigger(topics.RESET).success  # all that was measured lies in the future
        rig.speaking = True
        wait_until(lambda: rig.trigger(topics.RESET).success)
        wait_until(lambda: rig.propose(rig.stay()).status == ACCEPTED)
    finally:
        rig.close()
