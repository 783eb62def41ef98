"""Where bases are driven to: at the island, or to a goal that nothing stands in the way of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openral.manifest import RobotDescription
from tests.world.base_room import Room
from tests.world.kitchen_rig import ROBOT, Pose

FASTEST = 1.0
DRIVES = ["holonomic", "differential"]
ISLAND = ((0.16, 0.06), (1.44, 0.84))
Twist = tuple[float, float, float]


def place(start: Pose, q: NDArray[np.float64]) -> Pose:
    """Where a base is that has driven from there."""
    (x, y, yaw), (ahead, left, turn) = start, (float(value) for value in q[:3])
    c, s = math.cos(yaw), math.sin(yaw)
    return x + c * ahead - s * left, y + s * ahead + c * left, yaw + turn


def robot_with(drive: str) -> RobotDescription:
    """The robot with wheels of that kind and an envelope that lets it go at 1 m/s."""
    data = ROBOT.model_dump() | {"base_drive": drive}
    data["safety"]["base_linear_m_s"] = 1.1 * FASTEST
    for joint in data["joints"]:
        if joint["name"] in ("base_x", "base_y"):
            joint["limits"]["velocity"] = 1.1
    return RobotDescription.model_validate(data)


@dataclass(frozen=True)
class AtIsland:
    """A drive at the island: from where, and the twist that leads there."""

    start: Pose
    speed: float
    twist: Twist


def at_island(seed: int) -> AtIsland:
    """The seed's drive at the island."""
    rng = np.random.default_rng(seed)
    start = _starts_at_island(rng, Room())
    speed, aside = float(rng.uniform(0.3, FASTEST)), float(rng.uniform(-0.15, 0.15))
    return AtIsland(start, speed, (speed * math.cos(aside), speed * math.sin(aside), 0.0))


@dataclass(frozen=True)
class Goal:
    """A place to drive to: turn on the spot, then straight ahead."""

    start: Pose
    turn: float
    metres: float
    fastest: float

    def left(self, q: NDArray[np.float64]) -> float:
        """How far it still is."""
        x, y = float(q[0]), float(q[1])
        return self.metres - x * math.cos(self.turn) - y * math.sin(self.turn)

    def twist(self, q: NDArray[np.float64]) -> Twist:
        """What leads there from these joints; sideways, too, as a joystick asks."""
        x, y, yaw = (float(value) for value in q[:3])
        aside, askew = y * math.cos(self.turn) - x * math.sin(self.turn), self.turn - yaw
        slowing = min(self.fastest, max(0.08, 0.8 * self.left(q)))
        return 0.0 if abs(askew) > 0.05 else slowing, -aside, 2.0 * askew


def free_goal(seed: int) -> Goal:
    """The seed's goal with free space all the way."""
    rng = np.random.default_rng(1000 + seed)
    start, turn, metres = _starts_with_room(rng, Room())
    return Goal(start, turn, metres, float(rng.uniform(0.3, FASTEST)))


def _starts_at_island(rng: np.random.Generator, room: Room) -> Pose:
    """A free place from which the island is straight ahead."""
    while True:
        target = [rng.uniform(a + 0.1, b - 0.1) for a, b in zip(*ISLAND, strict=True)]
        angle, away = rng.uniform(-math.pi, math.pi), rng.uniform(1.1, 2.2)
        x, y = target[0] - away * math.cos(angle), target[1] - away * math.sin(angle)
        pose = (float(x), float(y), float(angle))
        if abs(x) < 2.4 and abs(y) < 2.0 and room.gap(pose) > 0.2:
            return pose


def _starts_with_room(rng: np.random.Generator, room: Room) -> tuple[Pose, float, float]:
    """A free place, how far to turn there and to drive on with a hand's width to spare."""
    while True:
        x, y, yaw = rng.uniform(-2.2, 2.0), rng.uniform(-1.8, 1.2), rng.uniform(-3.1, 3.1)
        metres, turn = float(rng.uniform(0.4, 1.2)), float(rng.uniform(-0.8, 0.8))
        turned = [room.gap((float(x), float(y), float(yaw - s * turn))) for s in (0.25, 0.5, 1.0)]
        if min(turned) > 0.12 and room.way((float(x), float(y), float(yaw)), metres) > 0.12:
            return (float(x), float(y), float(yaw - turn)), turn, metres
