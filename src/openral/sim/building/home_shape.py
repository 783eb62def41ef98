"""HomeShape: the volume that a robot occupies at home, as spheres in its mounting frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openral.manifest import Kinematics, RobotDescription
from openral.manifest.kinematics import matrix
from openral.manifest.link import Link

_ALONG = np.linspace(0, 1, 5)


class HomeShape:
    """Spheres along every capsule, the geometry that the safety kernel keeps clear."""

    def __init__(self, robot: RobotDescription, carried_by: str | None = None) -> None:
        """Covers the whole robot, or the link `carried_by` and everything below it in the tree."""
        chosen = set(_carried(robot, carried_by or robot.root))
        kinematics = Kinematics(robot)
        base = matrix(robot.sim.base_pose.xyz, robot.sim.base_pose.rpy)
        poses = base @ kinematics.poses(robot.home_position)
        centres, radii = [np.zeros((0, 3))], [np.zeros(0)]
        for name, pose in zip(kinematics.links, poses, strict=True):
            if name not in chosen:
                continue
            points, sizes = _spheres(robot.link(name))
            if len(points):
                centres.append(points @ pose[:3, :3].T + pose[:3, 3])
                radii.append(sizes)
        self.centres: NDArray[np.float64] = np.concatenate(centres)
        self.radii: NDArray[np.float64] = np.concatenate(radii)

    def front(self, below: float, forward: float = 1.0) -> float:
        """Largest extent in m along x (`forward` 1) or -x (-1) of the robot below a height."""
        low = self.centres[:, 2] - self.radii < below
        x = forward * self.centres[low, 0] + self.radii[low]
        return float(x.max(initial=-np.inf))

    def lowest(self, beyond: float, forward: float = 1.0) -> float:
        """Least height in m of the robot beyond a distance along x (`forward` 1) or -x (-1)."""
        ahead = forward * self.centres[:, 0] + self.radii > beyond
        return float((self.centres[ahead, 2] - self.radii[ahead]).min(initial=np.inf))


def _carried(robot: RobotDescription, link: str) -> list[str]:
    found = [link]
    for name in found:
        found.extend(joint.child for joint in robot.joints if joint.parent == name)
    return found


def _spheres(link: Link) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    points = [
        np.asarray(c.p0) + t * (np.asarray(c.p1) - np.asarray(c.p0))
        for c in link.capsules
        for t in _ALONG
    ]
    sizes = [c.radius for c in link.capsules for _ in _ALONG]
    return np.array(points, float).reshape(-1, 3), np.array(sizes, float)
