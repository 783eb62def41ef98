"""/cmd_vel in the live graph: nothing is touched on the way to the island or to a free goal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openral.graph import topics
from openral.hal import topics as hal_topics
from openral.manifest import ControlMode
from openral.ros import msg
from tests.hal.node_rig import LiveGraph
from tests.ros.conftest import Graph, wait_until
from tests.world.base_drives import DRIVES, Twist, at_island, free_goal, robot_with
from tests.world.counter_streams import Vector, into_the_counter, tucked
from tests.world.kitchen_rig import ROBOT, Pose, at_counter
from tests.world.live_kitchen import SEEN, contacts, robot_file, scene_file, start, vetoed

SOAK = "OPENRAL_SOAK" in os.environ
SEEDS = range(50 if SOAK else 2)


class LiveBase:
    """A base that is driven by /cmd_vel, as Nav2 or a joystick would."""

    def __init__(self, live: LiveGraph, start: Pose) -> None:
        self.live, self.start = live, start
        self._cmd_vel = live.node.create_publisher(msg.Twist, hal_topics.CMD_VEL, topics.COMMAND)
        wait_until(lambda: self._cmd_vel.has_subscribers)

    def drive(self, twist: Twist) -> Any:
        """Sends a twist; the kernel's stop if there is one."""
        forward, left, turn = twist
        self._cmd_vel.publish(msg.Twist(msg.Vector3(forward, left, 0.0), msg.Vector3(z=turn)))
        return vetoed(self.live)

    def touched(self) -> set[tuple[str, str]]:
        """What touched the kitchen until the robot stood."""
        wait_until(lambda: self.live.speed < 0.01)
        return contacts(self.start, self.live.robot, self.live.heard[topics.JOINT_STATES])


@contextmanager
def base_at(graph: Graph, folder: Path, place: Pose, seed: int) -> Iterator[LiveBase]:
    """Seeds take turns with wheels and, in a soak, with clocks: on wall time nobody waits."""
    robot = robot_file(folder, robot_with(DRIVES[seed % 2]))
    live = start(graph, scene_file(folder, place), not SOAK or bool(seed // 2 % 2), robot)
    try:
        yield LiveBase(live, place)
    finally:
        live.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_base_stops_short_of_the_island(graph: Graph, tmp_path: Path, seed: int) -> None:
    way = at_island(seed)
    with base_at(graph, tmp_path, way.start, seed) as base:
        stop = wait_until(lambda: base.drive(way.twist), 180.0)
        assert stop.reason in SEEN, stop.detail
        assert ControlMode.BODY_TWIST.value in stop.detail
        assert not base.touched()


@pytest.mark.parametrize("seed", SEEDS)
def test_free_space_is_not_blocked(graph: Graph, tmp_path: Path, seed: int) -> None:
    goal = free_goal(seed)
    with base_at(graph, tmp_path, goal.start, seed) as base:

        def reached() -> bool:
            stop = base.drive(goal.twist(base.live.q))
            assert stop is None, stop.detail
            return goal.left(base.live.q) <= 0.05

        wait_until(reached, 180.0)
        assert not base.touched()


def touched(place: Pose, *poses: Vector) -> set[str]:
    """All that touches in these poses, by name."""
    names, still = list(ROBOT.joint_names), np.zeros(len(ROBOT.joint_names))
    heard = [msg.JointState(name=names, position=q, velocity=still) for q in poses]
    return {name for pair in contacts(place, ROBOT, heard) for name in pair}


def test_one_state_that_touches_is_found_among_others() -> None:
    free, ahead = tucked(), tucked()
    ahead[0] = 0.5
    assert not touched((-0.6, 0.45, 0.0), free)
    assert {"island", "base_link_box0"} <= touched((-0.6, 0.45, 0.0), free, ahead, free)
    rng = np.random.default_rng(0)
    place = at_counter(rng)
    found = touched(place, *into_the_counter(place, rng).poses)
    assert "counter_north_top" in found and any("finger" in name for name in found)
