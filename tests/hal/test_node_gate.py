"""The HAL's node and the kernel's, as processes: what moves the robot, and what ends motion."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from openral.graph import topics
from openral.graph.run_key import RunKey
from openral.graph.seal import Seal
from openral.hal import topics as hal_topics
from openral.ros.codec import types
from tests.hal.node_rig import (
    ESTOPPED,
    EXECUTING,
    HOLDING,
    MSGS,
    STOPPED,
    LiveGraph,
    live_graph,
)
from tests.ros.conftest import domain, wait_until  # noqa: F401 - a fixture

JOINT = "panda_joint1"


@pytest.fixture(scope="module")
def live(domain: int) -> Iterator[LiveGraph]:  # noqa: F811
    with live_graph(domain, "franka_panda") as made:
        made.hear("std_msgs/msg/String", hal_topics.EPISODE, topics.LATCHED)
        made.hear(f"{MSGS}/WorldCollision", topics.WORLD, topics.LATCHED)
        made.hear(f"{MSGS}/WorldCollision", hal_topics.OBJECTS, topics.SENSOR)
        made.start_both("sim_env_yaml=tabletop_push")
        yield made


def move(live: LiveGraph, seconds: float = 1.0) -> None:
    """Has a motion accepted, and waits until it is under way."""
    live.under_way(JOINT, 0.3 if live.q[0] < 0 else -0.3, seconds)


def at_rest(live: LiveGraph) -> bool:
    return bool(live.speed < 0.01)


def test_a_sealed_motion_is_executed_row_by_row_and_then_held(live: LiveGraph) -> None:
    rows = live.heard[hal_topics.APPLIED]
    verdict = live.under_way(JOINT, 0.3, 0.4)
    wait_until(lambda: live.state.state == HOLDING and live.state.reason == "finished")
    mine = [row for row in rows if row.sequence == live.state.sequence]
    assert [row.row for row in mine] == list(range(20))
    assert bytes(mine[0].trace_id) == bytes(verdict.trace_id)
    wait_until(lambda: abs(live.q[0] - mine[-1].requested[0]) < 0.01)
    assert live.state.sequence == live.safety.sequence


def test_states_come_with_the_simulations_time_and_the_manifests_names(live: LiveGraph) -> None:
    joints = live.latest(topics.JOINT_STATES)
    assert list(joints.name) == live.robot.joint_names
    assert len(joints.velocity) == len(joints.name)
    age = live.node.now() - (joints.header.stamp.sec * 10**9 + joints.header.stamp.nanosec)
    assert abs(age) < 2 * 10**9


def test_the_scene_is_told_in_the_base_frame(live: LiveGraph) -> None:
    world = live.latest(topics.WORLD)
    assert world.header.frame_id == live.robot.base_frame
    assert "table" in [box.id for box in world.primitives]
    assert "cube" not in [box.id for box in world.primitives]
    objects = live.latest(hal_topics.OBJECTS)
    assert [thing.id for thing in objects.primitives] == ["cube", "goal"]
    table = next(box for box in world.primitives if box.id == "table")
    cube = objects.primitives[0]
    top = table.pose.position.z + table.size[2] / 2
    assert cube.pose.position.z == pytest.approx(top + cube.size[2] / 2, abs=2e-3)


def test_an_episode_is_told_and_the_next_one_begun_on_request(live: LiveGraph) -> None:
    move(live, 3.0)
    refused = live.trigger(hal_topics.RESET_SCENE)
    assert not refused.success
    assert "executed" in refused.message
    wait_until(lambda: live.state.state == HOLDING)
    before = json.loads(live.latest(hal_topics.EPISODE).data)
    assert before["steps"] > 0
    assert live.trigger(hal_topics.RESET_SCENE).success
    wait_until(
        lambda: json.loads(live.latest(hal_topics.EPISODE).data)["episode"] == before["episode"] + 1
    )
    after = json.loads(live.latest(hal_topics.EPISODE).data)
    assert (after["steps"], after["seed"]) == (0, before["seed"] + 1)
    wait_until(lambda: np.allclose(live.q, live.robot.home_position, atol=0.01))


def test_a_stop_is_applied_acknowledged_and_taken_back_without_a_jump(live: LiveGraph) -> None:
    move(live, 3.0)
    answer = live.call("openral_msgs/srv/EStop", topics.ESTOP, source="operator", reason="test")
    assert answer.success
    assert answer.applied
    wait_until(lambda: live.state.state == STOPPED)
    wait_until(lambda: live.state.stop_epoch == live.safety.epoch)
    wait_until(lambda: at_rest(live))
    place = live.q
    live.arm()
    assert live.state.state == HOLDING
    time.sleep(0.3)
    assert np.abs(live.q - place).max() < 0.01


def test_forged_replayed_and_garbled_actions_move_nothing(live: LiveGraph) -> None:
    sent: list[bytes] = []
    ear = live.node.create_subscription(
        f"{MSGS}/SafeAction", topics.SAFE_ACTION, sent.append, topics.COMMAND, raw=True
    )
    wait_until(lambda: ear.publisher_count)
    move(live, 0.8)
    wait_until(lambda: sent)
    live.node.destroy_subscription(ear)
    wait_until(lambda: live.state.state != EXECUTING)
    place = live.q
    forge = Seal(RunKey.create(), live.safety.epoch)
    forge.sequence = 10_000
    now = live.node.now()
    chunk = types.encode(live.swing(JOINT, 0.3, 0.3))
    out = live.node.create_publisher(f"{MSGS}/SafeAction", topics.SAFE_ACTION, topics.COMMAND)
    wait_until(lambda: out.has_subscribers)
    before = live.state
    out.publish_bytes(forge.seal(chunk, now, now + 10**9))
    out.publish_bytes(sent[0])
    out.publish_bytes(sent[0][:60])
    wait_until(lambda: live.state.replayed > before.replayed)
    wait_until(lambda: live.state.bad_mac >= before.bad_mac + 2)
    assert live.state.sequence == before.sequence
    assert np.abs(live.q - place).max() < 0.01


def test_an_event_of_anybody_stops_the_robot(live: LiveGraph) -> None:
    move(live, 3.0)
    out = live.node.create_publisher(f"{MSGS}/EStopEvent", topics.ESTOP, topics.COMMAND)
    wait_until(lambda: out.subscriber_count >= 2)
    out.publish(types.new(f"{MSGS}/EStopEvent", source="button", reason="pressed"))
    wait_until(lambda: live.state.state == STOPPED)
    wait_until(lambda: live.safety.state == ESTOPPED)
    wait_until(lambda: at_rest(live))
    move(live, 0.8)


def to_pose(live: LiveGraph, **fields: Any) -> Any:
    wait_until(lambda: live.state.state != EXECUTING)
    return live.call(
        "openral_msgs/srv/ResetToPose", hal_topics.reset_to_pose(live.robot.id), **fields
    )


def test_the_robot_is_brought_to_a_pose_through_the_kernel(live: LiveGraph) -> None:
    live.arm()
    judged = len(live.heard[topics.VERDICT])
    answer = to_pose(live, joint_names=[JOINT, "panda_joint7"], positions=np.array([0.4, 0.2]))
    assert answer.success, answer.message
    assert len(live.heard[topics.VERDICT]) > judged
    wait_until(lambda: abs(live.q[0] - 0.4) < 0.01)
    answer = to_pose(live, duration=1.0)
    assert answer.success, answer.message
    wait_until(lambda: np.abs(live.q - live.robot.home_position).max() < 0.01)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"pose": "sleepy"}, "unknown_pose"),
        ({"joint_names": ["elbow"], "positions": np.array([0.1])}, "unknown_joint"),
        ({"joint_names": [JOINT], "positions": np.array([9.0])}, "out_of_range"),
        ({"joint_names": [JOINT], "positions": np.array([0.1, 0.2])}, "wrong_width"),
    ],
)
def test_a_pose_that_cannot_be_asked_for_is_refused_with_a_code(
    live: LiveGraph, fields: dict[str, Any], reason: str
) -> None:
    live.arm()
    answer = to_pose(live, **fields)
    assert (answer.success, answer.reason) == (False, reason)
    assert answer.message


def test_a_pose_that_the_kernel_refuses_is_not_reached(live: LiveGraph) -> None:
    live.arm()
    place = live.q
    through_the_table = {"panda_joint2": 1.7, "panda_joint4": -0.1}
    answer = to_pose(
        live,
        joint_names=list(through_the_table),
        positions=np.array(list(through_the_table.values())),
    )
    assert (answer.success, answer.reason) == (False, "refused")
    wait_until(lambda: live.state.state == STOPPED)
    assert np.abs(live.q - place).max() < 0.01
    answer = to_pose(live)
    assert answer.reason == "not_armed"
