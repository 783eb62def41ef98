from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import nnls

from openral.errors import ConfigError
from openral.sim.importing.capsule_fit import FittedCapsule
from openral.sim.importing.hull import (
    capsule_volume,
    convex_hull,
    hull_volume,
    outside,
    reduce_hull,
    union_volume,
)

Array = NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)
CUBE = np.array(list(product((0.0, 1.0), repeat=3)))


def cloud(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rng.integers(5, 150), 3)) * rng.uniform(0.01, 0.3, 3)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return np.asarray(points @ turn + rng.uniform(-1, 1, 3))


def capsule(p0: list[float], p1: list[float], radius: float) -> FittedCapsule:
    return FittedCapsule(np.array(p0), np.array(p1), radius)


def distance_to_hull(point: Array, vertices: Array) -> float:
    """By non-negative least squares over convex weights: independent of the code under test."""
    heavy = 1e4  # weight of the row that makes the weights add up to one
    system = np.vstack([vertices.T, np.full(len(vertices), heavy)])
    weights = nnls(system, np.append(point, heavy))[0]
    return float(np.linalg.norm(weights @ vertices / weights.sum() - point))


def test_volume_of_known_bodies() -> None:
    inner = np.full((1, 3), 0.5)
    assert hull_volume(np.concatenate([CUBE, inner])) == pytest.approx(1.0)
    assert hull_volume(np.vstack([np.zeros(3), np.eye(3)])) == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("points", "dimension", "vertices", "edges"),
    [
        ([[1, 2, 3]], 0, 1, 0),
        ([[1, 2, 3]] * 5, 0, 1, 0),
        ([[0, 0, 0], [1, 1, 1]], 1, 2, 1),
        ([[0, 0, 0], [2, 2, 2], [1, 1, 1], [0.5, 0.5, 0.5]], 1, 2, 1),
        ([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0.4, 0.5, 1]], 2, 4, 4),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], 2, 3, 3),
    ],
)
def test_flat_sets_have_a_hull_without_volume(
    points: list[list[float]], dimension: int, vertices: int, edges: int
) -> None:
    array = np.array(points, dtype=float)
    hull = convex_hull(array)
    assert (hull.dimension, len(hull.vertices), len(hull.edges)) == (dimension, vertices, edges)
    assert hull_volume(array) == 0.0
    assert len(reduce_hull(array)) == vertices


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_every_edge_of_a_body_joins_two_facets(seed: int) -> None:
    hull = convex_hull(cloud(seed))
    assert len(hull.vertices) - len(hull.edges) + len(hull.facets) == 2


@settings(max_examples=25, deadline=None)
@given(seed=seeds, tolerance=st.floats(0.0005, 0.05))
def test_reduced_hull_keeps_the_tolerance(seed: int, tolerance: float) -> None:
    points = cloud(seed)
    reduced = reduce_hull(points, tolerance, max_points=len(points) + 4)
    assert {tuple(p) for p in reduced} <= {tuple(p) for p in points}
    assert max(distance_to_hull(p, reduced) for p in points) <= tolerance + 1e-6


@settings(max_examples=25, deadline=None)
@given(seed=seeds, count=st.integers(4, 40))
def test_reduced_hull_keeps_the_count(seed: int, count: int) -> None:
    points = cloud(seed)
    reduced = reduce_hull(points, tolerance=0.0, max_points=count)
    assert len(reduced) == min(count, len(convex_hull(points).vertices))
    assert len({tuple(p) for p in reduced}) == len(reduced)
    assert hull_volume(reduced) <= hull_volume(points) * (1 + 1e-9)


def test_reduction_of_a_disc_stays_flat() -> None:
    angle = np.linspace(0, math.tau, 200, endpoint=False)
    disc = np.column_stack([np.cos(angle), np.sin(angle), np.full(200, 0.3)])
    reduced = reduce_hull(disc, tolerance=0.01)
    assert len(reduced) < 40
    assert max(distance_to_hull(p, reduced) for p in disc) <= 0.01 + 1e-6


def test_distance_to_the_union_is_signed_and_the_least_of_all() -> None:
    capsules = [capsule([0, 0, 0], [1, 0, 0], 0.1), capsule([0, 0, 1], [0, 0, 1], 0.2)]
    points = np.array([[0.5, 0.3, 0], [0.5, 0, 0], [1.3, 0.4, 0], [0, 0, 1.5], [0, 0.1, 1]])
    assert outside(points, capsules) == pytest.approx([0.2, -0.1, 0.4, 0.3, -0.1])


def test_volume_of_apart_equal_and_nested_capsules() -> None:
    first = capsule([0, 0, 0], [1, 0, 0], 0.1)
    apart = capsule([0, 5, 0], [0, 5, 0.4], 0.3)
    inside = capsule([0.2, 0, 0], [0.8, 0, 0.01], 0.05)
    assert union_volume([]) == 0.0
    assert union_volume([first]) == pytest.approx(math.pi * 0.01 * (1 + 0.4 / 3))
    both = capsule_volume(first) + capsule_volume(apart)
    assert union_volume([first, apart]) == pytest.approx(both)
    assert union_volume([first, first]) == pytest.approx(capsule_volume(first))
    assert union_volume([inside, first]) == pytest.approx(capsule_volume(first))


@settings(max_examples=40, deadline=None)
@given(gap=st.floats(0.0, 2.5), small=st.floats(0.1, 1.0), length=st.floats(0.0, 3.0))
def test_volume_of_two_that_overlap(gap: float, small: float, length: float) -> None:
    """Two capsules on one axis whose facing caps meet: the overlap is a known lens."""
    first, second = capsule([0, 0, -length], [0, 0, 0], 1.0), capsule([0, 0, gap], [0, 0, 9], small)
    if gap >= 1 + small:
        lens = 0.0
    elif gap <= 1 - small:
        return  # the overlap reaches past the caps: not a lens
    else:
        lens = math.pi * (1 + small - gap) ** 2 / (12 * gap)
        lens *= gap**2 + 2 * gap * (1 + small) - 3 * (1 - small) ** 2
    plane = (gap**2 + 1 - small**2) / (2 * gap)
    if not 0 <= plane <= gap:
        return
    exact = capsule_volume(first) + capsule_volume(second) - lens
    assert union_volume([first, second]) == pytest.approx(exact, rel=0.01)


@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_volume_of_any_two_agrees_with_a_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pair = [
        FittedCapsule(rng.uniform(-0.5, 0.5, 3), rng.uniform(-0.5, 0.5, 3), rng.uniform(0.2, 0.5))
        for _ in range(2)
    ]
    side = (np.arange(64) + 0.5) / 32 - 1
    grid = np.stack(np.meshgrid(side, side, side), axis=-1).reshape(-1, 3)
    inside = np.count_nonzero(outside(grid, pair) <= 0)
    assert union_volume(pair) == pytest.approx(inside * (2 / 64) ** 3, rel=0.015)


def test_wrong_input_is_named() -> None:
    with pytest.raises(ConfigError, match=r"shape \(0, 3\); valid: \(N, 3\)"):
        hull_volume(np.empty((0, 3)))
    with pytest.raises(ConfigError, match=r"shape \(4, 2\)"):
        convex_hull(np.zeros((4, 2)))
    with pytest.raises(ConfigError, match=r"point 1 is \[0.0, nan, 0.0\]"):
        reduce_hull(np.array([[0, 0, 0], [0, math.nan, 0]]))
    with pytest.raises(ConfigError, match="max_points is 3; valid: 4 or more"):
        reduce_hull(CUBE, max_points=3)
    with pytest.raises(ConfigError, match="0 capsules; valid: 1 or more"):
        outside(CUBE, [])
