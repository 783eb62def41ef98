"""The base among furniture: it stops short of the island, and free space is not blocked."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

from openral.hal.bridges.cmd_vel import rows_towards, twist_chunk
from openral.manifest import RobotDescription
from tests.world.base_room import Room
from tests.world.counter_streams import tucked
from tests.world.kitchen_rig import ROBOT, Kitchen, Pose

RUNS = 50 if "OPENRAL_SOAK" in os.environ else 2
FASTEST = 1.0
DRIVES = ["holonomic", "differential"]
ISLAND = ((0.16, 0.06), (1.44, 0.84))


def starts_at_island(rng: np.random.Generator, room: Room) -> Pose:
    """A free place from which the island is straight ahead."""
    while True:
        target = [rng.uniform(a + 0.1, b - 0.1) for a, b in zip(*ISLAND, strict=True)]
        angle, away = rng.uniform(-math.pi, math.pi), rng.uniform(1.1, 2.2)
        x, y = target[0] - away * math.cos(angle), target[1] - away * math.sin(angle)
        pose = (float(x), float(y), float(angle))
        if abs(x) < 2.4 and abs(y) < 2.0 and room.gap(pose) > 0.2:
            return pose


def starts_with_room(rng: np.random.Generator, room: Room) -> tuple[Pose, float, float]:
    """A free place, how far to turn there and to drive on with a hand's width to spare."""
    while True:
        x, y, yaw = rng.uniform(-2.2, 2.0), rng.uniform(-1.8, 1.2), rng.uniform(-3.1, 3.1)
        metres, turn = float(rng.uniform(0.4, 1.2)), float(rng.uniform(-0.8, 0.8))
        turned = [room.gap((float(x), float(y), float(yaw - s * turn))) for s in (0.25, 0.5, 1.0)]
        if min(turned) > 0.12 and room.way((float(x), float(y), float(yaw)), metres) > 0.12:
            return (float(x), float(y), float(yaw - turn)), turn, metres


def robot_with(drive: str) -> RobotDescription:
    """The robot with wheels of that kind and an envelope that lets it go at 1 m/s."""
    data = ROBOT.model_dump() | {"base_drive": drive}
    data["safety"]["base_linear_m_s"] = 1.1 * FASTEST
    for joint in data["joints"]:
        if joint["name"] in ("base_x", "base_y"):
            joint["limits"]["velocity"] = 1.1
    return RobotDescription.model_validate(data)


def cmd_vel(kitchen: Kitchen, forward: float, left: float, turn: float = 0.0) -> Any:
    """The chunk that a HAL's node makes of a Twist."""
    base = kitchen.hal.read_base()
    rows = rows_towards(kitchen.robot, [base.forward, base.left, base.turn], [forward, left, turn])
    return twist_chunk(rows, kitchen.now, 1)


@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize("seed", range(RUNS))
def test_the_base_stops_short_of_the_island(seed: int, drive: str) -> None:
    rng = np.random.default_rng(seed)
    start = starts_at_island(rng, Room())
    speed, aside = float(rng.uniform(0.3, FASTEST)), float(rng.uniform(-0.15, 0.15))
    ahead = speed * math.cos(aside), speed * math.sin(aside)
    kitchen = Kitchen(start, tucked(), robot=robot_with(drive), seed=seed)
    try:
        kitchen.step(0.6)
        kitchen.drive(lambda t: cmd_vel(kitchen, *ahead), 2.5 / speed + 2.0, 0.08)
        assert kitchen.stopped, "it was never stopped"
        assert kitchen.verdicts[-1].status == "voxel_collision", str(kitchen.verdicts[-1])
        assert not kitchen.contacts
    finally:
        kitchen.close()


@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize("seed", range(RUNS))
def test_free_space_is_not_blocked(seed: int, drive: str) -> None:
    """A base that cannot go sideways reaches its goal although a joystick asks that of it, too."""
    rng = np.random.default_rng(1000 + seed)
    start, turn, metres = starts_with_room(rng, Room())
    fastest = float(rng.uniform(0.3, FASTEST))
    kitchen = Kitchen(start, tucked(), robot=robot_with(drive), seed=seed)
    try:
        kitchen.step(0.6)
        begin, left = kitchen.now, metres
        while left > 0.05 and kitchen.now - begin < 15e9:
            x, y, yaw = (float(value) for value in kitchen.q[:3])
            left = metres - x * math.cos(turn) - y * math.sin(turn)
            aside, askew = y * math.cos(turn) - x * math.sin(turn), turn - yaw
            ahead = 0.0 if abs(askew) > 0.05 else min(fastest, max(0.08, 0.8 * left))
            kitchen.propose(cmd_vel(kitchen, ahead, -aside, 2.0 * askew))
            assert not kitchen.stopped, str(kitchen.verdicts[-1])
            kitchen.step(0.08)
        assert left <= 0.05
        assert not kitchen.contacts
    finally:
        kitchen.close()
