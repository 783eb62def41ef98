"""A stop leads joints along the rows that they are on: what was proven is that path."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from openral.hal.build import build_hal
from openral.hal.execution.executor import ChunkExecutor
from openral.hal.sim.attached import SimAttachedHAL
from openral.manifest import ControlMode, load_robot
from tests.hal.chunks import chunk, joint_chunk, slot

Array = NDArray[np.float64]
PANDA = load_robot("franka_panda")
HOME = np.array(PANDA.home_position)
TICK, DT = 2_000_000, 0.02


def away(points: Array, path: Array) -> float:
    """The farthest that any of the points is from a path, in its worst joint."""
    worst = 0.0
    for point in points:
        nearest = np.inf
        for a, b in pairwise(path):
            way = b - a
            share = np.clip((point - a) @ way / max(float(way @ way), 1e-18), 0.0, 1.0)
            nearest = min(nearest, float(np.abs(point - a - share * way).max()))
        worst = max(worst, nearest)
    return worst


def corner(speed: float, rows: int = 12) -> Array:
    """Joint 1 first, then joint 2 at once."""
    way = np.repeat(HOME[None], 2 * rows, axis=0)
    way[:, 0] += speed * DT * np.minimum(np.arange(1, 2 * rows + 1), rows)
    way[:, 1] += speed * DT * np.maximum(np.arange(1, 2 * rows + 1) - rows, 0)
    return way


@pytest.mark.parametrize("after", [0.21, 0.23, 0.25, 0.3])
def test_what_a_stop_tells_the_joints_is_on_their_rows(after: float) -> None:
    executor = ChunkExecutor(PANDA, frozenset(PANDA.control_modes), ramp_s=0.06)
    rows, q, told = corner(1.5), HOME.copy(), []
    executor.seed(q)
    executor.submit(joint_chunk(rows, dt=DT))
    for tick in range(300):
        now = tick * TICK
        if now == round(after * 1e9):
            executor.hold("test")
        if now == round(after * 1e9) + 20_000_000:
            executor.stop("test")  # on top of the other
        last = q
        q = np.array(executor.tick(now, now + TICK, q, _velocity(told)).positions)
        told.append(q)
        assert np.abs(q - last).max() <= 1.5 * TICK * 1e-9 + 1e-9
    assert away(np.array(told), np.vstack([HOME, rows])) < 1e-9
    assert np.array_equal(told[-1], told[-100])


def _velocity(told: list[Array]) -> Array:
    if len(told) < 2:
        return np.zeros(HOME.size)
    return np.asarray((told[-1] - told[-2]) / (TICK * 1e-9))


def test_joints_that_are_driven_by_torque_stop_straight_on() -> None:
    executor = ChunkExecutor(PANDA, frozenset(PANDA.control_modes), ramp_s=0.06)
    executor.seed(HOME)
    torques = slot(ControlMode.JOINT_TORQUE, np.ones((20, 1)), joints=["panda_joint1"])
    executor.submit(chunk(torques, dt=DT))
    speed = np.zeros(HOME.size)
    speed[0] = 0.5
    assert executor.tick(0, TICK, HOME, speed).torques is not None
    executor.stop("test")
    places = [executor.tick(i * TICK, (i + 1) * TICK, HOME, speed) for i in range(1, 30)]
    assert all(place.torques is None for place in places)
    assert 0.005 < places[-1].positions[0] - HOME[0] <= 0.5 * 0.06 / 2 + 1e-9


@pytest.mark.parametrize("early", [0.0, 0.02, 0.04])
def test_a_simulated_robot_stops_on_its_path(early: float) -> None:
    hal = build_hal(PANDA, "sim")
    assert isinstance(hal, SimAttachedHAL)
    hal.connect()
    try:
        turn = 0.02 * np.minimum(np.arange(1, 41) / 10.0, 1.0).cumsum() / 0.15
        rows = np.repeat(HOME[None], 40, axis=0)  # around a circle, 1 rad/s
        rows[:, 0] += 0.15 * np.sin(turn)
        rows[:, 1] += 0.15 * (1.0 - np.cos(turn))
        hal.send_action(joint_chunk(rows, dt=DT))
        seen = []

        def run(seconds: float) -> None:
            for _ in range(round(seconds * 1e9 / hal.tick_ns)):
                hal.step()
                seen.append(np.array(hal.read_state().positions))

        run(0.5 - early)
        hal.estop("test")
        run(0.3)
        off = away(np.array(seen), np.vstack([HOME, rows]))
        assert off < PANDA.safety.tracking_error, off
    finally:
        hal.close()
