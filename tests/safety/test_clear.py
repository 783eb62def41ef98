"""Many configurations at once: what is called clear is clear by MuJoCo, and the other way round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openral.bench.robot import bench_robot
from openral.errors import ConfigError
from openral.manifest import load_robot
from openral.manifest.library import shipped_robots
from openral.safety import Kernel, Sphere
from tests.safety.drawing import random_arm, random_grid, random_world
from tests.safety.helpers import HOME_Q, NOW
from tests.safety.oracle import Oracle

ROUNDED = 5e-5  # slack that rounding may cost


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 2**32 - 1))
def test_each_configuration_is_judged_as_mujoco_judges_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_arm(rng)
    world = random_world(rng, int(rng.integers(0, 20)))
    grid = random_grid(rng, int(rng.integers(1, 25)))
    oracle = Oracle(robot, world, grid)
    limits = np.array([joint.position_range for joint in robot.driven])
    rows = rng.uniform(limits[:, 0], limits[:, 1], (int(rng.integers(1, 20)), len(limits)))
    if rng.random() < 0.5:  # as the rows of a motion lie
        rows = np.clip(rows[:1] + 0.02 * rows, limits[:, 0], limits[:, 1])
    for scalar in (False, True):
        kernel = Kernel(robot, scalar_only=scalar)
        kernel.set_world(world, NOW)
        kernel.set_voxels(grid, NOW)
        for q, clear in zip(rows, kernel.clear(rows), strict=True):
            outside, own = oracle.clearance(q)
            spare = min(outside - robot.safety.margin_m, own - robot.safety.self_margin_m)
            assert (spare > -2e-6) if clear else (spare < ROUNDED)


@pytest.mark.parametrize("name", shipped_robots())
def test_shipped_robots_are_clear_at_home_and_not_with_a_ball_in_their_way(name: str) -> None:
    robot = load_robot(name)
    kernel = Kernel(robot, requires_world=False, requires_voxels=False)
    home = robot.home_position
    assert kernel.clear([home, home]).tolist() == [True, True]
    kernel.set_world([Sphere("ball", (0.0, 0.0, 0.5), 5.0)], NOW)
    assert kernel.clear([home]).tolist() == [False]


def test_rows_of_another_width_are_refused() -> None:
    kernel = Kernel(bench_robot())
    with pytest.raises(ConfigError, match=r"\(2, 7\).*'bench_arm' takes rows of 8"):
        kernel.clear(np.zeros((2, 7)))
    with pytest.raises(ConfigError, match="rows of 8"):
        kernel.clear(HOME_Q)


def test_a_world_that_must_be_seen_and_was_not_leaves_nothing_clear() -> None:
    assert Kernel(bench_robot()).clear([HOME_Q]).all()
    assert not Kernel(bench_robot(), requires_world=True).clear([HOME_Q]).any()
