"""The base among furniture: it stops short of the island, and free space is not blocked."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

from openral.manifest import ControlMode
from openral.safety.kernel import Kernel
from openral.safety.obstacles import Box
from tests.hal.chunks import chunk, slot
from tests.world.counter_streams import tucked
from tests.world.kitchen_rig import ROBOT, Kitchen, Pose

RUNS = 50 if "OPENRAL_SOAK" in os.environ else 2
ISLAND = ((0.16, 0.06), (1.44, 0.84))
# Name, low corner, high corner: everything solid, the loose stool included.
SOLID = (
    ((-3.1, 2.5, 0.0), (3.1, 2.6, 2.4)),
    ((-3.1, -2.6, 0.0), (3.1, -2.5, 1.0)),
    ((3.0, -2.6, 0.0), (3.1, 2.6, 2.4)),
    ((-3.1, -2.6, 0.0), (-3.0, 2.6, 2.4)),
    ((-2.0, 1.86, 0.0), (2.4, 2.5, 0.86)),
    ((2.36, -1.2, 0.0), (3.0, 2.5, 0.86)),
    ((0.16, 0.06, 0.0), (1.44, 0.84, 0.86)),
    ((-2.9, 1.7, 0.0), (-2.1, 2.5, 1.9)),
    ((0.5, -2.0, 0.0), (1.9, -1.0, 0.8)),
    ((-0.76, -1.06, 0.0), (-0.44, -0.74, 0.45)),
)


class Room:
    """Where a base can stand, by the truth."""

    def __init__(self) -> None:
        self._kernel = Kernel(ROBOT)

    def gap(self, pose: Pose) -> float:
        q = tucked()
        self._kernel.set_base(pose, 0)
        boxes = []
        for i, (low, high) in enumerate(SOLID):
            centre, half = (np.array(low) + high) / 2, (np.array(high) - low) / 2
            # The lowest centimetres are left out: the base stands on its own floor.
            boxes.append(Box(str(i), tuple(centre.tolist()), tuple(half.tolist())))
        self._kernel.set_world(boxes, 0, fixed=True)
        return self._kernel.clearance(q, 1.0)[0]

    def way(self, start: Pose, metres: float) -> float:
        """Least gap while driving straight ahead."""
        x, y, yaw = start
        steps = np.arange(0.0, metres + 0.05, 0.05)
        return min(self.gap((x + s * math.cos(yaw), y + s * math.sin(yaw), yaw)) for s in steps)


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


def twist(forward: float, left: float, turn: float) -> Any:
    return chunk(slot(ControlMode.BODY_TWIST, [[forward, left, turn]] * 3), dt=0.05)


@pytest.mark.parametrize("seed", range(RUNS))
def test_the_base_stops_short_of_the_island(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start = starts_at_island(rng, Room())
    speed, aside = float(rng.uniform(0.3, 1.0)), float(rng.uniform(-0.15, 0.15))
    ahead = speed * math.cos(aside), speed * math.sin(aside)
    kitchen = Kitchen(start, tucked(), seed=seed)
    try:
        kitchen.step(0.6)
        kitchen.drive(lambda t: twist(ahead[0], ahead[1], 0.0), 2.5 / speed + 1.0, 0.1)
        assert kitchen.stopped, "it was never stopped"
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
