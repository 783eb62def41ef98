"""The base among furniture: it stops short of the island, and free space is not blocked."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

from openral.hal.bridges.cmd_vel import rows_towards, twist_chunk
from openral.manifest import ControlMode, RobotDescription
from tests.hal.chunks import chunk, slot
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


def starts_with_room(rng: np.random.Generator, room: Room) -> tuple[Pose, float]:
    """A free place and how far one can drive straight on from it with a hand's width to spare."""
    while True:
        x, y, yaw = rng.uniform(-2.2, 2.0), rng.uniform(-1.8, 1.2), rng.uniform(-3.1, 3.1)
        metres = float(rng.uniform(0.4, 1.2))
        pose = (float(x), float(y), float(yaw))
        if room.way(pose, metres) > 0.12:
            return pose, metres


def robot_with(drive: str, fast: bool) -> RobotDescription:
    """The robot with wheels of that kind; `fast`: with an envelope that lets it go at 1 m/s."""
    data = ROBOT.model_dump() | {"base_drive": drive}
    if not fast:
        return RobotDescription.model_validate(data)
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


def twist(forward: float, left: float, turn: float) -> Any:
    return chunk(slot(ControlMode.BODY_TWIST, [[forward, left, turn]] * 3), dt=0.05)


@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize("seed", range(RUNS))
def test_the_base_stops_short_of_the_island(seed: int, drive: str) -> None:
    rng = np.random.default_rng(seed)
    start = starts_at_island(rng, Room())
    speed, aside = float(rng.uniform(0.3, FASTEST)), float(rng.uniform(-0.15, 0.15))
    ahead = speed * math.cos(aside), speed * math.sin(aside)
    kitchen = Kitchen(start, tucked(), robot=robot_with(drive, True), seed=seed)
    try:
        kitchen.step(0.6)
        kitchen.drive(lambda t: cmd_vel(kitchen, *ahead), 2.5 / speed + 2.0, 0.08)
        assert kitchen.stopped, "it was never stopped"
        assert kitchen.verdicts[-1].status == "voxel_collision", str(kitchen.verdicts[-1])
        assert not kitchen.contacts
    finally:
        kitchen.close()


@pytest.mark.parametrize("seed", range(RUNS))
def test_free_space_is_not_blocked(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    start, metres = starts_with_room(rng, Room())
    kitchen = Kitchen(start, tucked(), seed=seed)
    try:
        kitchen.step(0.6)
        begin = kitchen.now
        while kitchen.q[0] < metres - 0.05 and kitchen.now - begin < 15e9:
            left = metres - float(kitchen.q[0])
            kitchen.propose(twist(min(0.5, max(0.08, 0.8 * left)), -float(kitchen.q[1]), 0.0))
            assert not kitchen.stopped, str(kitchen.verdicts[-1])
            kitchen.step(0.1)
        assert kitchen.q[0] >= metres - 0.05
        assert not kitchen.contacts
    finally:
        kitchen.close()


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_differential_base_reaches_a_free_goal_whatever_a_joystick_says(seed: int) -> None:
    """Asked to go sideways as well, it steers for a goal straight ahead and is never stopped."""
    rng = np.random.default_rng(1000 + seed)
    start, metres = starts_with_room(rng, Room())
    kitchen = Kitchen(start, tucked(), robot=robot_with("differential", False), seed=seed)
    try:
        kitchen.step(0.6)
        begin = kitchen.now
        while kitchen.q[0] < metres - 0.05 and kitchen.now - begin < 15e9:
            ahead = min(0.5, max(0.08, 0.8 * (metres - float(kitchen.q[0]))))
            steer = -2.0 * float(kitchen.q[1]) - float(kitchen.q[2])
            kitchen.propose(cmd_vel(kitchen, ahead, float(rng.uniform(-0.5, 0.5)), steer))
            assert not kitchen.stopped, str(kitchen.verdicts[-1])
            kitchen.step(0.1)
        assert kitchen.q[0] >= metres - 0.05
        assert not kitchen.contacts
    finally:
        kitchen.close()
