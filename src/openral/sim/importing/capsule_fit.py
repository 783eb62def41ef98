"""Fits one or two capsules that enclose a link: every point of it and of its convex hull.

A plane cuts the hull into two convex pieces and each capsule contains the corners of one piece.
A capsule is convex, so it contains its whole piece, and the two contain the whole hull.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from openral.errors import ConfigError
from openral.sim.importing.enclosing_capsule import (
    FittedCapsule,
    around,
    candidate_capsules,
    cube_directions,
    shrink,
)
from openral.sim.importing.hull import (
    Array,
    Hull,
    as_points,
    capsule_volume,
    convex_hull,
    principal_frame,
    reduce_hull,
    union_volume,
)

__all__ = ["FittedCapsule", "fit_capsules"]

_GAIN = 0.08  # a second capsule must save this fraction of the volume
_FRACTIONS = (0.2, 0.35, 0.5, 0.65, 0.8)
_TRIED, _REFINED = 7, 3  # number of planes that are fitted, and of these refined
_EVALUATIONS = 24
_COARSE = 512  # samples of the union while searching

Plane = tuple[Array, float]
Pieces = tuple[Array, Array]
Pair = tuple[FittedCapsule, FittedCapsule]


@dataclass(frozen=True)
class Cut:
    """A plane through a hull, the capsules around the two pieces and the volume of their union."""

    plane: Plane
    pair: Pair
    volume: float


def fit_capsules(points: Array, max_capsules: int = 2) -> list[FittedCapsule]:
    """Capsules of small volume whose union contains the points (n, 3) and their convex hull.

    A second capsule is used only where it saves a substantial part of the volume. Deterministic.
    """
    if max_capsules not in (1, 2):
        raise ConfigError(f"max_capsules is {max_capsules}; valid choices: 1, 2")
    points = as_points(points)
    hull = convex_hull(points)
    if hull.dimension < 2:
        return [around(points, hull.vertices[0], hull.vertices[-1])]
    best = _smallest(hull.vertices, 3)
    single = around(points, best.p0, best.p1)
    if max_capsules == 1:
        return [single]
    pair = _best_pair(points, hull)
    if pair and union_volume(pair) < (1 - _GAIN) * capsule_volume(single):
        return list(pair)
    return [single]


def _smallest(points: Array, starts: int) -> FittedCapsule:
    tried = [shrink(points, start) for start in candidate_capsules(points, starts)]
    return min(tried, key=capsule_volume)


def split(hull: Hull, plane: Plane) -> Pieces | None:
    """The corners of the hull's two pieces on either side of a plane; None if it misses."""
    normal, offset = plane
    height = hull.vertices @ normal - offset
    low, high = height[hull.edges[:, 0]], height[hull.edges[:, 1]]
    crossing = low * high < 0
    if not crossing.any():
        return None
    part = (low[crossing] / (low[crossing] - high[crossing]))[:, None]
    ends = hull.vertices[hull.edges[crossing]]
    cuts = ends[:, 0] + part * (ends[:, 1] - ends[:, 0])
    below, above = hull.vertices[height <= 0], hull.vertices[height >= 0]
    return np.concatenate([below, cuts]), np.concatenate([above, cuts])


def _best_pair(points: Array, hull: Hull) -> Pair | None:
    """The best pair found: planes are tried on a reduced hull, the result uses the full one."""
    extent = float(np.ptp(hull.vertices, axis=0).max())
    draft = convex_hull(reduce_hull(hull.vertices, tolerance=0.003 * extent, max_points=36))
    tried = [cut for plane in _promising(draft)[:_TRIED] if (cut := _cut(draft, plane))]
    tried = sorted(tried, key=lambda cut: cut.volume)[:_REFINED]
    if not tried:
        return None
    best = min((_refine(draft, cut) for cut in tried), key=lambda cut: cut.volume)
    return _finish(points, hull, best)


def _cut(hull: Hull, plane: Plane, guess: Pair | None = None) -> Cut | None:
    """Small capsules around the pieces at a plane, optimised from a guess where there is one."""
    pieces = split(hull, plane)
    if pieces is None:
        return None
    if guess is None:
        guess = candidate_capsules(pieces[0], 1)[0], candidate_capsules(pieces[1], 1)[0]
    pair = shrink(pieces[0], guess[0]), shrink(pieces[1], guess[1])
    return Cut(plane, pair, union_volume(pair, _COARSE))


def _promising(hull: Hull) -> list[Plane]:
    """Planes ordered by the volume of quickly fitted capsules around their pieces, best first."""
    _, frame, _ = principal_frame(hull.vertices)
    ranked: list[tuple[float, Plane]] = []
    for normal in cube_directions() @ frame:
        height = hull.vertices @ normal
        options = []
        for fraction in _FRACTIONS:
            plane = (normal, float(height.min() + fraction * np.ptp(height)))
            pieces = split(hull, plane)
            if pieces:
                quick = [candidate_capsules(piece, 1)[0] for piece in pieces]
                options.append((union_volume(quick, _COARSE), plane))
        if options:
            ranked.append(min(options, key=lambda option: option[0]))
    return [plane for _, plane in sorted(ranked, key=lambda option: option[0])]


def _refine(hull: Hull, cut: Cut) -> Cut:
    """Tilts and shifts a cut's plane towards the least union volume."""
    normal, offset = cut.plane
    extent = float(np.ptp(hull.vertices @ normal))
    centre = hull.vertices.mean(axis=0)
    _, frame, _ = principal_frame(hull.vertices)
    first = np.cross(normal, frame[np.argmin(np.abs(frame @ normal))])
    first /= np.linalg.norm(first)
    second = np.cross(normal, first)
    best = cut

    def cost(move: Array) -> float:
        nonlocal best
        tilted = normal + move[0] * first + move[1] * second
        tilted /= np.linalg.norm(tilted)
        depth = offset - float(centre @ normal) + float(move[2]) * extent
        here = _cut(hull, (tilted, float(centre @ tilted) + depth), best.pair)
        if here is None:
            return math.inf
        best = min(best, here, key=lambda option: option.volume)
        return here.volume

    simplex = np.vstack([np.zeros(3), np.diag([0.25, 0.25, 0.08])])
    minimize(
        cost,
        simplex[0],
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "maxfev": _EVALUATIONS, "xatol": 1e-3, "fatol": 0.0},
    )
    return best


def _finish(points: Array, hull: Hull, cut: Cut) -> Pair | None:
    """Capsules around the full hull's pieces, and around the given points on each side."""
    pieces = split(hull, cut.plane)
    if pieces is None:
        return None
    normal, offset = cut.plane
    above = points @ normal > offset
    found = []
    for piece, guess, side in zip(pieces, cut.pair, (~above, above), strict=True):
        capsule = min(_smallest(piece, 1), shrink(piece, guess), key=capsule_volume)
        found.append(around(np.concatenate([piece, points[side]]), capsule.p0, capsule.p1))
    return found[0], found[1]
