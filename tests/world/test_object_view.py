"""Objects are told to skills in the present base frame, whatever frame they were told in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openral.graph.states import SensorState
from openral.graph.topics import WORLD
from openral.manifest import load_robot
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.stamps import time_message
from openral.world import topics
from openral.world.object_view import ObjectView

ROBOT, ARM = load_robot("panda_mobile"), load_robot("ur5e")
HAND = ROBOT.end_effectors[0].link
NOW = 50 * NS
Pose = tuple[float, float, float]
poses = st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.floats(-3.1, 3.1))


def ball(name: str, x: float, y: float, link: str = "") -> Any:
    turn = msg.Quaternion(0.0, 0.0, 0.0, 1.0)
    made = msg.CollisionPrimitive(id=name, pose=msg.Pose(msg.Point(x, y, 0.5), turn))
    made.attached_link = link
    return made


def told(frame: str, stamp: int, *things: Any) -> Any:
    header = msg.Header(stamp=time_message(stamp), frame_id=frame)
    return msg.WorldCollision(header=header, primitives=list(things))


def drive(view: ObjectView, pose: Pose, stamp: int) -> None:
    x, y, yaw = pose
    odom = msg.Odometry(header=msg.Header(stamp=time_message(stamp), frame_id="odom"))
    turn = msg.Quaternion(0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))
    odom.pose.pose = msg.Pose(msg.Point(x, y, 0.0), turn)
    view.take_odom(odom)


def matrix(pose: Pose) -> Any:
    x, y, yaw = pose
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, x], [s, c, y], [0, 0, 1.0]])


def places(view: ObjectView, now: int = NOW) -> dict[str, Any]:
    around = view.now(now)
    found = around.obstacles | around.objects
    return {i: np.array([p.pose.position.x, p.pose.position.y]) for i, p in found.items()}


def faults(view: ObjectView, now: int = NOW) -> list[Any]:
    return [feed for feed in view.now(now).health if feed.state != SensorState.OK]


@given(poses, poses)
@settings(max_examples=40, deadline=None)
def test_objects_of_every_frame_are_seen_from_the_base_as_it_is_now(then: Pose, now: Pose) -> None:
    view = ObjectView(ROBOT)
    drive(view, then, NOW - NS // 2)
    drive(view, now, NOW)
    base = ROBOT.base_frame
    view.take_known(
        told(base, NOW - NS // 2, ball("old", 1.0, 0.2), ball("cup", 3, 4, HAND)), 1, NOW
    )
    view.take_known(told("odom", NOW - NS // 2, ball("fixed", 2.0, -1.0)), 2, NOW)
    view.take_seen(told(base, NOW, ball("seen", 0.5, 0.0)))
    here = np.linalg.inv(matrix(now))
    found = places(view)
    assert found["old"] == pytest.approx((here @ matrix(then) @ [1.0, 0.2, 1.0])[:2], abs=1e-9)
    assert found["fixed"] == pytest.approx((here @ [2.0, -1.0, 1.0])[:2], abs=1e-9)
    assert found["seen"] == pytest.approx([0.5, 0.0]) and found["cup"].tolist() == [3, 4]
    assert [feed.name for feed in view.now(NOW).health] == [WORLD, WORLD, topics.OBJECTS]
    assert not faults(view)


@pytest.mark.parametrize(
    ("frame", "ago_s", "word"),
    [("map", 0.0, "odom"), ("", 0.0, "frame ''"), (ROBOT.base_frame, 0.9, "")],
)
def test_what_cannot_be_placed_is_left_out_and_said_to_be_stale(
    frame: str, ago_s: float, word: str
) -> None:
    view = ObjectView(ROBOT)
    drive(view, (0.0, 0.0, 0.0), NOW - NS // 2)
    drive(view, (1.0, 0.0, 0.0), NOW)
    view.take_known(told(ROBOT.base_frame, NOW, ball("good", 1.0, 0.0)), 1, NOW)
    view.take_known(told(frame, NOW - round(ago_s * NS), ball("bad", 1.0, 0.0)), 2, NOW)
    (fault,) = faults(view)
    assert set(places(view)) == {"good"}
    assert (fault.name, fault.state) == (WORLD, SensorState.STALE) and word in fault.detail


def test_a_base_without_odometry_and_lists_nobody_keeps_up() -> None:
    view = ObjectView(ROBOT)
    view.take_known(told(ROBOT.base_frame, NOW, ball("a", 1.0, 0.0)), 1, NOW)
    (fault,) = faults(view)
    assert not places(view) and "no odometry" in fault.detail
    drive(view, (0.0, 0.0, 0.0), NOW)
    view.take_seen(told(ROBOT.base_frame, NOW, ball("b", 1.0, 0.0)))
    assert set(places(view)) == {"a", "b"}
    drive(view, (0.0, 0.0, 0.0), NOW + 2 * NS)
    late = NOW + 2 * NS
    assert not places(view, late)
    assert {fault.name for fault in faults(view, late)} == {WORLD, topics.OBJECTS}
    view.take_known(told(ROBOT.base_frame, late, ball("c", 1.0, 0.0)), 2, NOW)
    assert set(places(view, late)) == {"c"}
    view.take_known(told(ROBOT.base_frame, late, ball("c", 1.0, 0.0)), 1, NOW)
    assert not places(view, late) and "two publishers" in faults(view, late)[0].detail
    assert not view.now(NOW + 20 * NS).health  # nobody keeps any of it up


def test_an_arm_that_stands_still_needs_no_odometry() -> None:
    view = ObjectView(ARM)
    view.take_known(told(ARM.base_frame, NOW, ball("a", 1.0, 0.5)), 1, NOW)
    assert places(view)["a"].tolist() == [1.0, 0.5]
