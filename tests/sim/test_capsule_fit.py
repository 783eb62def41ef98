from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from openral.errors import ConfigError
from openral.sim.importing.capsule_fit import FittedCapsule, fit_capsules
from openral.sim.importing.hull import capsule_volume, hull_volume, outside, union_volume

Array = NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)
SHARED = Path(__file__).parents[3] / "shared" / "robots"
HULLS = sorted(SHARED.glob("*_hulls.npz"))


def turned(rng: np.random.Generator, points: Array) -> Array:
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    return np.asarray(points @ turn.T + rng.uniform(-1, 1, 3))


def cloud(rng: np.random.Generator) -> Array:
    points = rng.normal(size=(rng.integers(5, 150), 3)) * rng.uniform(0.01, 0.3, 3)
    return turned(rng, points)


def in_hull(rng: np.random.Generator, points: Array, count: int) -> Array:
    """Samples of the hull's surface, and of its inside between surface and mean."""
    corners = points[ConvexHull(points).simplices]
    picked = corners[rng.integers(0, len(corners), count)]
    surface = np.einsum("nk,nkd->nd", rng.dirichlet(np.ones(3), count), picked)
    depth = rng.uniform(size=(count, 1))
    return np.concatenate([surface, surface + depth * (points.mean(axis=0) - surface)])


def surface_of(rng: np.random.Generator, length: float, radius: float) -> Array:
    normals = rng.normal(size=(700, 3))
    caps = radius * normals / np.linalg.norm(normals, axis=1)[:, None]
    caps[:, 2] += np.where(caps[:, 2] > 0, length, 0)
    angle, height = rng.uniform(0, math.tau, 300), rng.uniform(0, length, 300)
    side = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])
    return np.concatenate([caps, side])


@settings(max_examples=12, deadline=None)
@given(seed=seeds, count=st.integers(1, 2))
def test_capsules_contain_the_points_and_their_hull(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    points = cloud(rng)
    capsules = fit_capsules(points, count)
    assert 1 <= len(capsules) <= count
    assert outside(points, capsules).max() <= 1e-9
    assert outside(in_hull(rng, points, 2000), capsules).max() <= 1e-9
    assert union_volume(capsules) >= hull_volume(points) * 0.99


@settings(max_examples=5, deadline=None)
@given(seed=seeds)
def test_a_rigid_motion_leaves_the_volume(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = cloud(rng)
    moved = turned(rng, points)
    single, single_moved = fit_capsules(points, 1), fit_capsules(moved, 1)
    assert union_volume(single) == pytest.approx(union_volume(single_moved), rel=0.05)
    pair, pair_moved = fit_capsules(points), fit_capsules(moved)
    assert union_volume(pair) == pytest.approx(union_volume(pair_moved), rel=0.15)


@settings(max_examples=5, deadline=None)
@given(seed=seeds, length=st.floats(0.0, 0.6), radius=st.floats(0.02, 0.2))
def test_a_capsule_is_recovered(seed: int, length: float, radius: float) -> None:
    rng = np.random.default_rng(seed)
    found = fit_capsules(turned(rng, surface_of(rng, length, radius)))
    assert len(found) == 1
    original = FittedCapsule(np.zeros(3), np.array([0, 0, length]), radius)
    assert capsule_volume(found[0]) == pytest.approx(capsule_volume(original), rel=0.05)


def test_a_bent_body_gets_two_capsules_of_less_volume() -> None:
    rng = np.random.default_rng(1)
    arm = surface_of(rng, 0.4, 0.05)
    bent = np.concatenate([arm, arm[:, [2, 1, 0]]])
    two, one = fit_capsules(bent), fit_capsules(bent, 1)
    assert (len(two), len(one)) == (2, 1)
    assert union_volume(two) < 0.8 * union_volume(one)
    assert outside(in_hull(rng, bent, 5000), two).max() <= 1e-9


@pytest.mark.parametrize(
    "scale",
    [(0, 0, 0), (0.3, 0, 0), (0.3, 0.2, 0), (0.3, 0.2, 1e-9), (0.3, 1e-12, 1e-9), (1e-6,) * 3],
    ids=["point", "line", "plate", "foil", "wire", "speck"],
)
def test_degenerate_sets_are_enclosed(scale: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(2)
    points = turned(rng, rng.uniform(size=(50, 3)) * scale)
    for subset in (points, points[:1], points[:2], points[:3]):
        capsules = fit_capsules(subset)
        weights = rng.dirichlet(np.ones(len(subset)), 500)
        assert outside(subset, capsules).max() <= 1e-9
        assert outside(weights @ subset, capsules).max() <= 1e-9
        assert all(capsule.radius >= 1e-4 for capsule in capsules)


def test_the_same_points_give_the_same_capsules() -> None:
    points = cloud(np.random.default_rng(3))
    for first, second in zip(fit_capsules(points), fit_capsules(points.copy()), strict=True):
        assert np.array_equal(first.p0, second.p0)
        assert np.array_equal(first.p1, second.p1)
        assert first.radius == second.radius


def test_wrong_input_is_named() -> None:
    with pytest.raises(ConfigError, match="max_capsules is 3; valid choices: 1, 2"):
        fit_capsules(np.zeros((1, 3)), 3)
    with pytest.raises(ConfigError, match=r"shape \(3,\); valid: \(N, 3\)"):
        fit_capsules(np.zeros(3))


@pytest.mark.skipif(not HULLS, reason="no robot hulls beside the repository (shared/robots)")
@pytest.mark.parametrize("robot", ["aloha_bimanual", "so100_follower", "ur5e"])
def test_real_links_are_enclosed_tightly(robot: str) -> None:
    rng = np.random.default_rng(4)
    ratios = []
    with np.load(SHARED / f"{robot}_hulls.npz") as hulls:
        for name in hulls.files:
            if name.startswith("right/"):
                continue  # the left arm's links once more
            points = hulls[name].astype(np.float64)
            capsules = fit_capsules(points)
            assert outside(points, capsules).max() <= 1e-9, name
            assert outside(in_hull(rng, points, 2000), capsules).max() <= 1e-9, name
            ratios.append(union_volume(capsules) / hull_volume(points))
    assert np.median(ratios) <= 2.3
    assert max(ratios) <= 3.0
