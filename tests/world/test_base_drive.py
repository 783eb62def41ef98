"""The base among furniture: it stops short of the island, and free space is not blocked."""

from __future__ import annotations

import os
from typing import Any

import pytest

from openral.hal.commands.cmd_vel import rows_towards, twist_chunk
from tests.world.base_drives import DRIVES, Twist, at_island, free_goal, place, robot_with
from tests.world.base_room import Room
from tests.world.counter_streams import tucked
from tests.world.kitchen_rig import Kitchen
from tests.world.live_kitchen import SEEN

RUNS = 50 if "OPENRAL_SOAK" in os.environ else 2


def cmd_vel(kitchen: Kitchen, twist: Twist) -> Any:
    """The chunk that a HAL's node makes of a Twist."""
    base = kitchen.hal.read_base()
    rows = rows_towards(kitchen.robot, [base.forward, base.left, base.turn], twist)
    return twist_chunk(rows, kitchen.now, 1)


@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize("seed", range(RUNS))
def test_the_base_stops_short_of_the_island(seed: int, drive: str) -> None:
    way = at_island(seed)
    kitchen = Kitchen(way.start, tucked(), robot=robot_with(drive), seed=seed)
    try:
        kitchen.step(0.6)
        kitchen.drive(lambda t: cmd_vel(kitchen, way.twist), 2.5 / way.speed + 2.0, 0.08)
        assert kitchen.stopped, "it was never stopped"
        assert kitchen.verdicts[-1].status in SEEN, str(kitchen.verdicts[-1])
        assert not kitchen.contacts
        gap = Room().gap(place(way.start, kitchen.q))
        assert gap < 0.15 + 0.25 * way.speed, "it was stopped for nothing"
    finally:
        kitchen.close()


@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize("seed", range(RUNS))
def test_free_space_is_not_blocked(seed: int, drive: str) -> None:
    """A base that cannot go sideways reaches its goal although a joystick asks that of it, too."""
    goal = free_goal(seed)
    kitchen = Kitchen(goal.start, tucked(), robot=robot_with(drive), seed=seed)
    try:
        kitchen.step(0.6)
        begin = kitchen.now
        while goal.left(kitchen.q) > 0.05 and kitchen.now - begin < 15e9:
            kitchen.propose(cmd_vel(kitchen, goal.twist(kitchen.q)))
            assert not kitchen.stopped, str(kitchen.verdicts[-1])
            kitchen.step(0.08)
        assert goal.left(kitchen.q) <= 0.05
        assert not kitchen.contacts
    finally:
        kitchen.close()
