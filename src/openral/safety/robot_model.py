"""Builds the kernel's robot model from a manifest."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from openral import _core
from openral.manifest.collision import collision_pairs
from openral.manifest.joint import Joint, JointRole, JointType
from openral.manifest.kinematics import Kinematics, joints_from_root, matrix
from openral.manifest.robot import BaseDrive, RobotDescription
from openral.manifest.safety import SafetyEnvelope

_KINDS = {
    JointType.FIXED: 0,
    JointType.REVOLUTE: 1,
    JointType.CONTINUOUS: 1,
    JointType.PRISMATIC: 2,
}
_GRASPING = {JointRole.GRIPPER, JointRole.HAND}
_BODY, _GRIPPER, _BASE = 0, 1, 2


def robot_model(robot: RobotDescription) -> _core.RobotModel:
    """The kernel's model of a robot.

    Links behind a gripper or hand joint have no geometry: touching things is their purpose, and
    force limits guard that contact.
    """
    model = _core.RobotModel()
    fill_model(model, robot)
    return model


def fill_model(model: _core.RobotModel, robot: RobotDescription) -> None:
    """Adds a robot to an empty model, or to any object with the same methods."""
    column = {name: i for i, name in enumerate(robot.joint_names)}
    for joint in robot.driven:
        _add_coordinate(model, joint, robot.safety.tracking_error)
    links = _add_links(model, robot, column)
    _add_capsules(model, robot, links)
    for effector in robot.end_effectors:
        model.add_tool(
            effector.name,
            effector.link,
            links[effector.link],
            _flat(matrix(effector.tcp.xyz, effector.tcp.rpy)),
            column[effector.gripper] if effector.gripper else -1,
        )
    for role in JointRole:
        if members := [column[j.name] for j in robot.driven if j.role is role]:
            model.add_group(role.value, members)
    if robot.base_joints:
        model.mobile = True
        model.base = [column[name] for name in robot.base_joints]
        model.differential = robot.base_drive is BaseDrive.DIFFERENTIAL
    model.base_frame = robot.base_frame
    model.modes = sum(1 << mode.byte for mode in robot.control_modes)
    _fill_envelope(model.envelope, robot.safety)


def link_order(robot: RobotDescription) -> list[str]:
    """Link names in the kernel's order."""
    return [robot.root, *(joint.child for joint in joints_from_root(robot))]


def grasping_links(robot: RobotDescription) -> set[str]:
    """Links that a gripper or hand joint moves."""
    found: set[str] = set()
    for joint in joints_from_root(robot):
        if joint.parent in found or (joint.moves and joint.role in _GRASPING):
            found.add(joint.child)
    return found


def _flat(pose: NDArray[np.float64]) -> list[float]:
    return [float(v) for v in pose.ravel()]


def _add_coordinate(model: _core.RobotModel, joint: Joint, tracking: float) -> None:
    assert joint.limits is not None
    low, high = joint.position_range
    role = _BASE if joint.role is JointRole.BASE else _BODY
    acceleration = joint.limits.acceleration
    model.add_coordinate(
        joint.name,
        _GRIPPER if joint.role in _GRASPING else role,
        low,
        high,
        joint.limits.velocity,
        math.inf if acceleration is None else acceleration,
        joint.limits.effort,
        tracking,
    )


def _add_links(
    model: _core.RobotModel, robot: RobotDescription, column: dict[str, int]
) -> dict[str, int]:
    kinematics = Kinematics(robot)
    base = kinematics.poses(np.zeros(kinematics.dof))[kinematics.links.index(robot.base_frame)]
    model.add_root(robot.root, _flat(np.linalg.inv(base)))
    links = {robot.root: 0}
    for joint in joints_from_root(robot):
        driver = joint.mimic.joint if joint.mimic else joint.name
        model.add_joint(
            joint.child,
            _KINDS[joint.type],
            links[joint.parent],
            _flat(matrix(joint.origin.xyz, joint.origin.rpy)),
            joint.axis,
            column.get(driver, -1),
            joint.mimic.multiplier if joint.mimic else 1.0,
            joint.mimic.offset if joint.mimic else 0.0,
        )
        links[joint.child] = len(links)
    return links


def _add_capsules(model: _core.RobotModel, robot: RobotDescription, links: dict[str, int]) -> None:
    skipped = grasping_links(robot)
    of: dict[str, list[int]] = {}
    count = 0
    for link in robot.links:
        if link.name in skipped:
            continue
        for capsule in link.capsules:
            model.add_capsule(links[link.name], capsule.p0, capsule.p1, capsule.radius)
            of.setdefault(link.name, []).append(count)
            count += 1
    for a, b in collision_pairs(robot):
        for i in of.get(a, []):
            for k in of.get(b, []):
                model.add_pair(i, k)


def _fill_envelope(out: _core.Envelope, safety: SafetyEnvelope) -> None:
    out.self_margin = safety.self_margin_m
    out.world_margin = safety.margin_m
    if safety.workspace:
        out.workspace_lower = safety.workspace.low
        out.workspace_upper = safety.workspace.high
    out.tool_speed = safety.ee_speed_m_s
    out.tool_rate = safety.ee_angular_rad_s
    out.step = safety.cartesian_step_m
    out.turn = safety.cartesian_step_rad
    out.follow_shift = safety.cartesian_error_m
    out.follow_turn = safety.cartesian_error_rad
    out.base_speed = math.inf if safety.base_linear_m_s is None else safety.base_linear_m_s
    out.base_rate = math.inf if safety.base_angular_rad_s is None else safety.base_angular_rad_s
    out.base_tracking = out.base_turn_tracking = safety.tracking_error
    out.base_deceleration = safety.base_deceleration_m_s2
    out.recheck = safety.recheck_s
    out.stop_time = safety.stop_s
    out.jitter = safety.rate_jitter
    out.slow_distance = safety.slow_distance_m
    out.slow_factor = safety.slow_factor
    out.recovery_speed = min(safety.recovery_speed, 1.0)
    out.state_age = out.base_age = round(safety.state_max_age_s * 1e9)
    out.world_age = round(safety.world_max_age_s * 1e9)
    out.voxel_age = round(safety.voxels_max_age_s * 1e9)
