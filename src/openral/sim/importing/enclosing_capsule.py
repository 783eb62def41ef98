"""Finds small capsules that enclose a set of points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from openral.sim.importing.hull import Array, principal_frame, segment_distances

MIN_RADIUS = 1e-4  # m: a point or a line still gets a volume that simulators accept

_ROUNDS = 6
_GRID = np.array([(x, y, z) for x in (0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)], dtype=float)


@dataclass(frozen=True)
class FittedCapsule:
    """A segment from `p0` to `p1` swept by a ball of `radius`, in metres."""

    p0: Array
    p1: Array
    radius: float


def cube_directions() -> Array:
    """The 13 axes of a cube through faces, edges and corners: a set that mirror images share."""
    lead = _GRID[:, 0] > 0
    lead |= (_GRID[:, 0] == 0) & (_GRID[:, 1] > 0)
    lead |= (_GRID[:, 0] == 0) & (_GRID[:, 1] == 0) & (_GRID[:, 2] > 0)
    chosen = _GRID[lead]
    return np.asarray(chosen / np.linalg.norm(chosen, axis=1)[:, None])


def around(points: Array, p0: Array, p1: Array) -> FittedCapsule:
    """The capsule around a given segment that contains every point (n, 3)."""
    radius = float(segment_distances(points, p0, p1).max())
    return FittedCapsule(p0, p1, max(radius * (1 + 1e-12), MIN_RADIUS))


def candidate_capsules(points: Array, count: int) -> list[FittedCapsule]:
    """Good capsules from a fixed set of axes, best first: initial guesses for `shrink`."""
    _, frame, _ = principal_frame(points)
    axes = cube_directions() @ frame
    centre, radius = _enclosing_circles(points, axes)
    along = axes @ points.T
    offsets = points[None] - centre[:, None]
    across = offsets - np.einsum("kn,kd->knd", np.einsum("knd,kd->kn", offsets, axes), axes)
    reach = np.sqrt(np.maximum(radius[:, None] ** 2 - np.sum(across**2, axis=2), 0))
    low, high = (along + reach).min(axis=1), (along - reach).max(axis=1)
    low, high = np.where(low > high, (low + high) / 2, low), np.where(low > high, low, high)
    high = np.maximum(low, high)
    volume = radius**2 * (high - low + 4 / 3 * radius)
    foot = np.einsum("kd,kd->k", centre, axes)
    found = []
    for k in np.argsort(volume, kind="stable")[:count]:
        ends = [centre[k] + (end - foot[k]) * axes[k] for end in (low[k], high[k])]
        found.append(around(points, ends[0], ends[1]))
    return found


def _enclosing_circles(points: Array, axes: Array, steps: int = 14) -> tuple[Array, Array]:
    """Approximately the smallest circle around the points projected along each axis."""
    flat = points[None] - np.einsum("kn,kd->knd", axes @ points.T, axes)
    centre = (flat.max(axis=1) + flat.min(axis=1)) / 2
    rows = np.arange(len(axes))
    best, best_radius = centre, np.full(len(axes), np.inf)
    for step in range(steps):
        squared = np.sum((flat - centre[:, None]) ** 2, axis=2)
        far = np.argmax(squared, axis=1)
        radius = np.sqrt(squared[rows, far])
        better = radius < best_radius
        best = np.where(better[:, None], centre, best)
        best_radius = np.where(better, radius, best_radius)
        centre = centre + (flat[rows, far] - centre) / (step + 4)
    return best, best_radius


def shrink(points: Array, start: FittedCapsule) -> FittedCapsule:
    """A capsule around the points of locally minimal volume, optimised from `start`."""
    scale = max(float(np.ptp(points, axis=0).max()), 1e-300)
    origin = points.mean(axis=0)
    local = (points - origin) / scale
    best = z = np.concatenate([(start.p0 - origin) / scale, (start.p1 - origin) / scale, [0.0]])
    least = math.inf
    active = np.zeros(len(points), dtype=bool)
    for _ in range(_ROUNDS):
        distances = segment_distances(local, z[:3], z[3:6])
        z[6] = distances.max()
        volume = _volume(z)[0]
        if volume < least:
            best, least = z.copy(), volume
        fresh = np.argsort(-distances, kind="stable")[:24]
        if active[fresh[0]]:  # no point reaches beyond those already solved for
            break
        active[fresh] = True
        z = _solve(local[active], z)
    return around(points, best[:3] * scale + origin, best[3:6] * scale + origin)


def _volume(z: Array) -> tuple[float, Array]:
    """Volume of the capsule z = (p0, p1, radius) divided by pi, and its gradient."""
    span, radius = z[3:6] - z[:3], z[6]
    length = math.sqrt(span @ span + 1e-18)
    pull = radius * radius / length * span
    slope = 2 * radius * (length + 2 * radius)
    return radius * radius * (length + 4 / 3 * radius), np.concatenate([-pull, pull, [slope]])


def _solve(points: Array, start: Array) -> Array:
    """Minimises the volume with every point within the radius (SLSQP with exact gradients)."""

    def nearest(z: Array) -> tuple[Array, Array, Array]:
        span = z[3:6] - z[:3]
        rest = points - z[:3]
        along = np.clip(rest @ span / max(float(span @ span), 1e-300), 0, 1)
        away = rest - along[:, None] * span
        return along[:, None], away, np.sqrt(np.einsum("nd,nd->n", away, away))

    def slack(z: Array) -> Array:
        return np.asarray(z[6] - nearest(z)[2])

    def slack_gradient(z: Array) -> Array:
        along, away, distance = nearest(z)
        unit = away / np.maximum(distance, 1e-12)[:, None]
        return np.hstack([(1 - along) * unit, along * unit, np.ones_like(along)])

    # Any: scipy's stubs know scalar constraints only.
    constraint: Any = {"type": "ineq", "fun": slack, "jac": slack_gradient}
    with np.errstate(over="ignore", invalid="ignore"):  # collinear points have no volume
        answer = minimize(
            _volume,
            start,
            jac=True,
            method="SLSQP",
            constraints=[constraint],
            options={"maxiter": 60, "ftol": 1e-7},
        )
    return np.asarray(answer.x) if np.isfinite(answer.x).all() else start
