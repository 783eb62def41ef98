"""Self-clearance of a robot: distances between the capsules of its links."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openral.manifest import Kinematics, RobotDescription

Array = NDArray[np.float64]


class SelfClearance:
    """Distances between the capsules of pairs of links, for many joint positions at once."""

    def __init__(self, robot: RobotDescription, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs
        self._kinematics = Kinematics(robot)
        index = {name: i for i, name in enumerate(self._kinematics.links)}
        self._capsules = [
            (index[link.name], np.array(c.p0), np.array(c.p1), c.radius)
            for link in robot.links
            for c in link.capsules
        ]
        of_link: dict[int, list[int]] = {}
        for number, (link, *_) in enumerate(self._capsules):
            of_link.setdefault(link, []).append(number)
        couples = [
            (pair, a, b)
            for pair, (left, right) in enumerate(pairs)
            for a in of_link[index[left]]
            for b in of_link[index[right]]
        ]
        self._couples = np.array(couples, int).reshape(-1, 3)

    def distances(self, q: ArrayLike) -> Array:
        """Least distance of each pair in m, (n, pairs), for `q` (n, dof); negative: overlap."""
        poses = self._kinematics.poses(np.atleast_2d(np.asarray(q, float)))
        out = np.full((len(poses), len(self.pairs)), np.inf)
        if not len(self._couples):
            return out
        ends = [
            np.stack([poses[:, link, :3, :3] @ p + poses[:, link, :3, 3] for p in (p0, p1)], 1)
            for link, p0, p1, _ in self._capsules
        ]
        segments = np.stack(ends, 1)  # (rows, capsules, end, xyz)
        radii = np.array([radius for *_, radius in self._capsules])
        which, a, b = self._couples.T
        gaps = segment_distances(segments[:, a], segments[:, b]) - radii[a] - radii[b]
        for pair in range(len(self.pairs)):
            out[:, pair] = gaps[:, which == pair].min(axis=1)
        return out


def segment_distances(a: Array, b: Array) -> Array:
    """Distances between segments; the last two axes are end point and coordinate."""
    u, v, w = a[..., 1, :] - a[..., 0, :], b[..., 1, :] - b[..., 0, :], a[..., 0, :] - b[..., 0, :]
    uu, vv, uv = (u * u).sum(-1), (v * v).sum(-1), (u * v).sum(-1)
    uw, vw = (u * w).sum(-1), (v * w).sum(-1)
    tiny = 1e-18
    # The nearest point of a for infinite lines, then b's for it, then a's for that: exact once
    # clamped in both orders; the four end points cover the rest.
    s = np.clip((uv * vw - vv * uw) / np.maximum(uu * vv - uv * uv, tiny), 0, 1)
    t = np.clip((uv * s + vw) / np.maximum(vv, tiny), 0, 1)
    s = np.clip((uv * t - uw) / np.maximum(uu, tiny), 0, 1)
    best = np.linalg.norm(w + s[..., None] * u - t[..., None] * v, axis=-1)
    for end in (0.0, 1.0):
        t = np.clip((uv * end + vw) / np.maximum(vv, tiny), 0, 1)
        best = np.minimum(best, np.linalg.norm(w + end * u - t[..., None] * v, axis=-1))
        s = np.clip((uv * end - uw) / np.maximum(uu, tiny), 0, 1)
        best = np.minimum(best, np.linalg.norm(w + s[..., None] * u - end * v, axis=-1))
    return np.asarray(best)


def random_positions(robot: RobotDescription, rows: int, seed: int = 0) -> Array:
    """Joint positions (rows, dof) drawn uniformly within the limits, ±pi where there are none."""
    low, high = np.array([joint.position_range for joint in robot.driven]).reshape(-1, 2).T
    low, high = np.where(np.isfinite(low), low, -np.pi), np.where(np.isfinite(high), high, np.pi)
    return np.random.default_rng(seed).uniform(low, high, (rows, len(low)))
