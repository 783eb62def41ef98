"""Reach: where an arm can work on a horizontal surface, found by sampling its joint positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openral.errors import CapabilityMismatch, ConfigError, choices
from openral.manifest import Kinematics, RobotDescription
from openral.manifest.joint import Joint, JointRole
from openral.manifest.kinematics import matrix
from openral.manifest.parts import EndEffector
from openral.sim.building.home_shape import HomeShape

_SAMPLES = 6000
_DOWN = -0.5  # a tool whose axis is within 60° of straight down counts as pointing down
_FLOOR_STANDING_M = 0.1
_HOME_GAP_M = 0.08  # between the table of a standing robot and the arm at home
_DROP = 0.42  # table below the shoulder of a standing robot, as a fraction of its reach


@dataclass(frozen=True)
class Reach:
    """Workspace of an arm in the robot's mounting frame (x forward, z up), lengths in m."""

    effector: EndEffector
    joints: tuple[str, ...]
    """The joints that move this arm alone, root first."""
    shoulder: NDArray[np.float64]
    """Position of the arm's first joint, (3,)."""
    forward: float
    """+1 when the arm works towards +x, -1 towards -x."""
    surface: float
    """Height of a suitable table: the mount's own, or below the shoulder of a standing robot."""
    distance: float
    """Best distance of a task in front of the shoulder."""
    span: float
    """Reach of the tool from the shoulder on that table: the scale for a task's sizes."""


def end_effector(robot: RobotDescription, name: str | None) -> EndEffector:
    """The end effector of that name, or the first."""
    names = [effector.name for effector in robot.end_effectors]
    if not names:
        raise CapabilityMismatch(f"robot '{robot.id}' has no end effector")
    if name is not None and name not in names:
        raise ConfigError(f"no arm '{name}' on '{robot.id}'; {choices(name, names, 'arms')}")
    return robot.end_effectors[names.index(name) if name else 0]


def arm_joints(robot: RobotDescription, effector: EndEffector) -> list[Joint]:
    """The joints that move this tool and no other, root first, without base and gripper."""
    shared = {
        joint.name
        for other in robot.end_effectors
        if other.name != effector.name
        for joint in _chain(robot, other)
    }
    outside = (JointRole.BASE, JointRole.GRIPPER)
    chain = [j for j in _chain(robot, effector) if j.role not in outside and j.name not in shared]
    if not chain:
        raise CapabilityMismatch(f"no arm joint moves '{effector.name}' of '{robot.id}'")
    return chain


def _chain(robot: RobotDescription, effector: EndEffector) -> list[Joint]:
    chain, link = [], effector.link
    while (joint := robot.parent_joint.get(link)) is not None:
        if joint.actuated:
            chain.append(joint)
        link = joint.parent
    return chain[::-1]


def survey(robot: RobotDescription, arm: str | None = None) -> Reach:
    """Samples the joint positions of an arm, by default the first; deterministic."""
    effector = end_effector(robot, arm)
    joints = arm_joints(robot, effector)
    kinematics = Kinematics(robot)
    base = matrix(robot.sim.base_pose.xyz, robot.sim.base_pose.rpy)
    tool = matrix(effector.tcp.xyz, effector.tcp.rpy)
    links = kinematics.links
    home = np.array(robot.home_position)
    at_home = base @ kinematics.poses(home)
    shoulder = at_home[links.index(joints[0].child), :3, 3]
    ahead = (at_home[links.index(effector.link)] @ tool)[0, 3] - shoulder[0]
    forward = -1.0 if ahead < -0.1 else 1.0

    rows = _samples(robot, joints, home)
    tips = base @ kinematics.poses(rows)[:, links.index(effector.link)] @ tool
    points, down = tips[:, :3, 3] - shoulder, tips[:, 2, 2] < _DOWN
    length = float(np.quantile(np.linalg.norm(points, axis=1), 0.99))
    standing = bool(robot.base_joints) or robot.sim.base_pose.xyz[2] > _FLOOR_STANDING_M
    surface = 0.0
    if standing:
        shape = HomeShape(robot, joints[0].child)
        hanging = shape.lowest(float(forward * shoulder[0]) + 0.3 * length, forward)
        surface = min(float(shoulder[2]) - _DROP * length, hanging - _HOME_GAP_M)
        surface = max(surface, float(shoulder[2]) - 0.7 * length)
    level = np.abs(points[:, 2] + shoulder[2] - surface) < 0.15 * length
    ahead_of = np.abs(points[:, 1]) < forward * points[:, 0]
    useful = level & down & ahead_of
    if np.count_nonzero(useful) < 30:  # a forearm without a wrist cannot point down
        useful = level & ahead_of
    if np.count_nonzero(useful) < 30:
        raise CapabilityMismatch(f"'{effector.name}' of '{robot.id}' reaches no table")
    radii = np.linalg.norm(points[useful, :2], axis=1)
    span = float(np.quantile(radii, 0.95))
    distance = float(np.clip(np.quantile(radii, 0.45), 0.64 * span, 0.7 * span))
    names = tuple(joint.name for joint in joints)
    return Reach(effector, names, shoulder, forward, surface, distance, span)


def _samples(
    robot: RobotDescription, joints: list[Joint], home: NDArray[np.float64]
) -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    rows = np.tile(home, (_SAMPLES, 1))
    for joint in joints:
        low, high = joint.position_range
        low, high = max(low, -np.pi), min(high, np.pi)
        rows[:, robot.joint_names.index(joint.name)] = rng.uniform(low, high, _SAMPLES)
    return rows
