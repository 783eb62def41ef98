"""ToolShape: the volume that a hand with its gripper closed occupies around the tool point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openral.manifest import Kinematics, RobotDescription
from openral.manifest.kinematics import matrix
from openral.manifest.parts import EndEffector

Vector = NDArray[np.float64]

_ALONG = np.linspace(0, 1, 9)
_SAME_M = 0.004


def closed_position(robot: RobotDescription, effector: EndEffector) -> float | None:
    """Position of the gripper joint, rad or m, with the fingers together; None: no gripper."""
    if effector.gripper is None:
        return None
    joint = robot.joint(effector.gripper)
    kinematics, column = Kinematics(robot), robot.joint_names.index(joint.name)
    followers = [j.child for j in robot.joints if j.mimic and j.mimic.joint == joint.name]
    links = [kinematics.links.index(name) for name in [joint.child, *followers]]
    hand = kinematics.links.index(effector.link)
    tip = [*effector.tcp.xyz, 1.0]
    gaps = []
    for value in joint.position_range:
        q = np.array(robot.home_position)
        q[column] = value
        poses = kinematics.poses(q)
        point = poses[hand] @ tip
        ends = [_spheres(robot, kinematics.links[i], poses[i])[0] for i in links]
        gaps.append(sum(float(np.linalg.norm(p - point[:3], axis=1).min()) for p in ends if len(p)))
    return joint.position_range[int(np.argmin(gaps))]


class ToolShape:
    """Spheres along the hand's capsules, in the tool frame (z points out of the hand)."""

    def __init__(self, robot: RobotDescription, effector: EndEffector) -> None:
        kinematics = Kinematics(robot)
        q = np.array(robot.home_position)
        closed = closed_position(robot, effector)
        if closed is not None and effector.gripper is not None:
            q[robot.joint_names.index(effector.gripper)] = closed
        poses = kinematics.poses(q)
        hand = poses[kinematics.links.index(effector.link)]
        to_tool = np.linalg.inv(hand @ matrix(effector.tcp.xyz, effector.tcp.rpy))
        centres, radii = [np.zeros((0, 3))], [np.zeros(0)]
        for name in _carried(robot, effector.link):
            points, sizes = _spheres(robot, name, poses[kinematics.links.index(name)])
            if len(points):
                centres.append(points @ to_tool[:3, :3].T + to_tool[:3, 3])
                radii.append(sizes)
        self.centres, self.radii = np.concatenate(centres), np.concatenate(radii)

    def lowest(self, tool: Vector) -> float:
        """Height in m of the hand's lowest point for a tool pose (4, 4) in the world."""
        return float((self._heights(tool) - self.radii).min(initial=float(tool[2, 3])))

    def contact(self, tool: Vector, direction: Vector, below: float) -> Vector:
        """First contact point (x, y) of the hand, moved along `direction`, below a height.

        In the world frame, in m; `direction` is a horizontal unit vector (2,). The middle of all
        points that touch at the same time.
        """
        offsets = self.centres @ tool[:2, :3].T
        # A sphere that lies only partly below the height is as wide there as its cross-section.
        over = np.maximum(0.0, self._heights(tool) - below)
        low = over < self.radii
        if not low.any():
            return np.asarray(tool[:2, 3].copy())
        cut = np.sqrt(self.radii[low] ** 2 - over[low] ** 2)
        along = offsets[low] @ direction + cut
        first = along > along.max() - _SAME_M
        middle = (offsets[low][first] + cut[first, None] * direction).mean(axis=0)
        middle += (along.max() - middle @ direction) * direction
        return np.asarray(tool[:2, 3] + middle)

    def _heights(self, tool: Vector) -> Vector:
        return np.asarray(self.centres @ tool[2, :3] + tool[2, 3])


def _carried(robot: RobotDescription, link: str) -> list[str]:
    """The rigid group of links that `link` belongs to, and everything further down the tree."""
    while (joint := robot.parent_joint.get(link)) is not None and not joint.moves:
        link = joint.parent
    found = [link]
    for name in found:
        found.extend(joint.child for joint in robot.joints if joint.parent == name)
    return found


def _spheres(robot: RobotDescription, link: str, pose: Vector) -> tuple[Vector, Vector]:
    capsules = robot.link(link).capsules
    points = [
        np.asarray(c.p0) + t * (np.asarray(c.p1) - np.asarray(c.p0))
        for c in capsules
        for t in _ALONG
    ]
    sizes = np.array([c.radius for c in capsules for _ in _ALONG], float)
    local = np.array(points, float).reshape(-1, 3)
    return local @ pose[:3, :3].T + pose[:3, 3], sizes
