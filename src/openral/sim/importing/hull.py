"""Convex hulls of link meshes, and measures of how well capsules enclose them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from openral.errors import ConfigError

Array = NDArray[np.float64]

_FLAT = 1e-9  # an extent below this fraction of the largest one is no dimension
_SAMPLES = 1 << 14


class CapsuleLike(Protocol):
    """A segment from `p0` to `p1` swept by a ball of `radius`."""

    @property
    def p0(self) -> Array:
        """One end of the segment."""

    @property
    def p1(self) -> Array:
        """The other end of the segment."""

    @property
    def radius(self) -> float:
        """Radius around the segment."""


@dataclass(frozen=True)
class Hull:
    """A convex hull of any dimension from a point (0) to a body (3).

    `edges` and `facets` index `vertices`; in a flat hull a facet repeats its last vertex.
    """

    vertices: Array
    edges: NDArray[np.intp]
    facets: NDArray[np.intp]
    dimension: int


def as_points(points: Array) -> Array:
    """The points as a float64 array (N, 3), N >= 1; ConfigError for other shapes or values."""
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise ConfigError(f"points have shape {array.shape}; valid: (N, 3) with N >= 1")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise ConfigError(f"point {bad[0]} is {array[bad[0]].tolist()}; every value must be finite")
    return array


def principal_frame(points: Array) -> tuple[Array, Array, Array]:
    """Mean, principal axes (rows, longest first) and the extent of the points along each.

    An axis points towards the longer tail, so that the frame moves with the points.
    """
    centre = points.mean(axis=0)
    centred = points - centre
    axes = np.linalg.eigh(centred.T @ centred)[1].T[::-1]
    local = centred @ axes.T
    axes = np.where(np.sum(local**3, axis=0) < 0, -1.0, 1.0)[:, None] * axes
    extents = np.ptp(local, axis=0)
    order = np.argsort(-extents, kind="stable")
    return centre, axes[order], extents[order]


def convex_hull(points: Array) -> Hull:
    """The convex hull of points (N, 3), which may be coplanar, collinear or a single point."""
    points = as_points(points)
    centre, axes, extents = principal_frame(points)
    dimension = int(np.sum(extents > _FLAT * max(extents[0], 1e-300)))
    local = (points - centre) @ axes.T
    while dimension >= 2:
        try:
            return _from_simplices(points, ConvexHull(local[:, :dimension]), dimension)
        except QhullError:  # too flat for its precision: a hull one dimension lower
            dimension -= 1
    ends = np.array([np.argmin(local[:, 0]), np.argmax(local[:, 0])])[: dimension + 1]
    span = np.arange(len(ends))
    edges = np.array([[0, 1]][:dimension], dtype=np.intp).reshape(-1, 2)
    return Hull(points[ends], edges, np.pad(span, (0, 3 - len(span)), mode="edge")[None], dimension)


def _from_simplices(points: Array, hull: ConvexHull, dimension: int) -> Hull:
    index = np.zeros(len(points), dtype=np.intp)
    index[hull.vertices] = np.arange(len(hull.vertices))
    facets = index[hull.simplices]
    if dimension == 2:
        edges = facets
        facets = np.column_stack([facets, facets[:, 1]])
    else:
        edges = np.concatenate([facets[:, [0, 1]], facets[:, [1, 2]], facets[:, [2, 0]]])
    edges = np.unique(np.sort(edges, axis=1), axis=0)
    return Hull(points[hull.vertices], edges, facets, dimension)


def hull_volume(points: Array) -> float:
    """Volume of the convex hull in m³; 0 for a flat one."""
    hull = convex_hull(points)
    if hull.dimension < 3:
        return 0.0
    corners = hull.vertices[hull.facets] - hull.vertices.mean(axis=0)
    return float(np.abs(np.linalg.det(corners)).sum() / 6)


def reduce_hull(points: Array, tolerance: float = 0.0015, max_points: int = 40) -> Array:
    """A subset of the hull's vertices whose hull is within `tolerance` in m of every point.

    Greedy: the vertex farthest outside is added until the tolerance or `max_points` is reached.
    """
    if max_points < 4:
        raise ConfigError(f"max_points is {max_points}; valid: 4 or more")
    hull = convex_hull(points)
    vertices = hull.vertices
    if len(vertices) <= 4:
        return vertices
    _, axes, _ = principal_frame(vertices)
    local = (vertices @ axes.T)[:, : hull.dimension]
    chosen = _spread(local)
    while len(chosen) < min(max_points, len(vertices)):
        distances = _beyond(local, local[chosen], tolerance)
        farthest = int(np.argmax(distances))
        if distances[farthest] <= tolerance or farthest in chosen:
            break
        chosen.append(farthest)
    return vertices[chosen]


def _spread(local: Array) -> list[int]:
    """Indices of points that span the space: each is farthest from the span of those before."""
    chosen = [int(np.argmin(local[:, 0]))]
    rest = local - local[chosen[0]]
    for _ in range(local.shape[1]):
        lengths = np.linalg.norm(rest, axis=1)
        chosen.append(int(np.argmax(lengths)))
        direction = rest[chosen[-1]] / lengths[chosen[-1]]
        rest = rest - np.outer(rest @ direction, direction)
    return chosen


def _beyond(local: Array, subset: Array, tolerance: float) -> Array:
    """Distance of each point outside the subset's hull; a lower bound while above tolerance."""
    hull = ConvexHull(subset)
    bound: Array = np.max(local @ hull.equations[:, :-1].T + hull.equations[:, -1], axis=1)
    if bound.max() > tolerance:
        return bound
    exact: Array = np.minimum(bound, 0)
    out = np.flatnonzero(bound > 1e-12)
    corners = subset[hull.simplices]
    exact[out] = np.minimum.reduce([simplex_distances(local[out], corner) for corner in corners])
    return exact


def simplex_distances(points: Array, corners: Array) -> Array:
    """Distance of each point to a segment or a triangle given by its corners."""
    count = len(corners)
    sides = [segment_distances(points, corners[i], corners[i - 1]) for i in range(count)]
    nearest: Array = np.minimum.reduce(sides)
    if count == 3:
        spans = corners[1:] - corners[0]
        weights = (points - corners[0]) @ np.linalg.pinv(spans)
        within = (weights >= 0).all(axis=1) & (weights.sum(axis=1) <= 1)
        flat = np.linalg.norm(points - corners[0] - weights @ spans, axis=1)
        nearest = np.where(within, np.minimum(nearest, flat), nearest)
    return nearest


def segment_distances(points: Array, p0: Array, p1: Array) -> Array:
    """Distance of each point to the segment from `p0` to `p1`."""
    span = p1 - p0
    rest = points - p0
    along = np.clip(rest @ span / max(float(span @ span), 1e-300), 0, 1)
    return np.asarray(np.linalg.norm(rest - along[:, None] * span, axis=1))


def outside(points: Array, capsules: Sequence[CapsuleLike]) -> Array:
    """Signed distance of each point to the union of capsules, positive outside.

    Exact outside; inside it is the depth in the capsule that contains the point deepest.
    """
    if not capsules:
        raise ConfigError("outside() got 0 capsules; valid: 1 or more")
    points = as_points(points)
    depths = [segment_distances(points, c.p0, c.p1) - c.radius for c in capsules]
    return np.asarray(np.minimum.reduce(depths))


def capsule_volume(capsule: CapsuleLike) -> float:
    """Volume of one capsule."""
    length = float(np.linalg.norm(capsule.p1 - capsule.p0))
    return math.pi * capsule.radius**2 * (length + 4 / 3 * capsule.radius)


def union_volume(capsules: Sequence[CapsuleLike], samples: int = _SAMPLES) -> float:
    """Volume of the union: exact for one capsule, else by fixed samples (error well below 1 %)."""
    ordered = sorted(capsules, key=capsule_volume, reverse=True)
    total = 0.0
    for index, capsule in enumerate(ordered):
        points, weights = _fill(capsule, samples if index else 1)
        if index:
            weights = weights * (outside(points, ordered[:index]) > 0)
        total += float(weights.sum())
    return total


def _fill(capsule: CapsuleLike, samples: int) -> tuple[Array, Array]:
    """Evenly spread points in a capsule, half in its cylinder, half in its caps, and volumes."""
    span = capsule.p1 - capsule.p0
    length = float(np.linalg.norm(span))
    axis = span / length if length > 0 else np.array([0.0, 0.0, 1.0])
    side = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    side /= np.linalg.norm(side)
    plastic = 1.2207440846057596  # root of x^4 = x + 1: the most even additive sequence in 3-D
    steps = np.arange(1, samples + 1)[:, None] / plastic ** np.arange(1, 4)
    u, v, w = ((0.5 + steps) % 1.0).T
    turn = np.outer(np.cos(math.tau * w), side)
    turn += np.outer(np.sin(math.tau * w), np.cross(axis, side))
    cylinder = capsule.p0 + np.outer(v, span) + (capsule.radius * np.sqrt(u))[:, None] * turn
    height = 2 * v - 1
    ball = np.outer(height, axis) + np.sqrt(1 - height**2)[:, None] * turn
    caps = capsule.radius * np.cbrt(u)[:, None] * ball
    caps += np.where(height[:, None] < 0, capsule.p0, capsule.p1)
    parts = math.pi * capsule.radius**2 * np.array([length, 4 / 3 * capsule.radius])
    return np.concatenate([cylinder, caps]), np.repeat(parts / samples, samples)
