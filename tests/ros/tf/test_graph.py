"""Transforms across the wire, and what happens to them when time goes back."""

from __future__ import annotations

from typing import Any

import numpy as np

from openral.ros import msg
from openral.ros.qos import CLOCK
from openral.ros.tf import (
    StaticTransformBroadcaster,
    TransformBroadcaster,
    TransformListener,
    stamped,
    to_time,
)
from tests.ros.tf.test_buffer import SECOND, at


def test_a_late_listener_learns_the_static_frames_of_all_nodes(graph: Any, until: Any) -> None:
    robot, camera = graph.node("robot", apart=True), graph.node("camera", apart=True)
    broadcaster = StaticTransformBroadcaster.on(robot)
    broadcaster.send_transform(stamped("base", "arm", 0, at(1)))
    broadcaster.send_transform(stamped("base", "mast", 0, at(2)))
    StaticTransformBroadcaster.on(camera).send_transform(stamped("mast", "camera", 0, at(3)))
    listener = TransformListener(graph.node("listener", apart=True))
    until(lambda: listener.buffer.can_transform("arm", "camera"))
    assert np.allclose(listener.buffer.lookup("arm", "camera").translation, [4, 0, 0])
    listener.close()


def test_time_going_back_empties_the_buffer(graph: Any, until: Any) -> None:
    robot = graph.node("robot", apart=True)
    clock = robot.create_publisher(msg.Clock, "/clock", CLOCK)
    broadcaster = TransformBroadcaster.on(robot)
    node = graph.node("listener", apart=True, parameters={"use_sim_time": True})
    listener = TransformListener(node)

    def known_at(second: int) -> bool:
        clock.publish(msg.Clock(to_time(second * SECOND)))
        broadcaster.send_transform(stamped("odom", "base", second * SECOND, at(second)))
        return node.now() == second * SECOND and listener.buffer.can_transform("odom", "base")

    until(lambda: known_at(100))
    # Nothing of the old time may still be on its way when the clock goes back.
    broadcaster.send_transform(stamped("odom", "base", 101 * SECOND, at(101)))
    until(lambda: listener.buffer.can_transform("odom", "base", 101 * SECOND))
    until(lambda: clock.publish(msg.Clock(to_time(SECOND))) or node.now() == SECOND)
    # The clock shows the new time just before its jump callbacks run on their thread.
    until(lambda: not listener.buffer.can_transform("odom", "base"))
    until(lambda: known_at(2))
    assert np.allclose(listener.buffer.lookup("odom", "base").translation, [2, 0, 0])
