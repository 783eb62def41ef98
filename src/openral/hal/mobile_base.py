"""Odometry of a planar base, computed from its joints."""

from __future__ import annotations

import math

from openral.errors import CapabilityMismatch
from openral.hal.protocols import BaseState
from openral.hal.snapshot import Snapshot
from openral.manifest import RobotDescription


def base_state(robot: RobotDescription, snapshot: Snapshot) -> BaseState:
    """Pose in the root frame and twist in the base frame, from base_joints x, y and yaw."""
    if len(robot.base_joints) != 3:
        raise CapabilityMismatch(
            f"'{robot.id}' has no mobile base: base_joints are {list(robot.base_joints)}"
        )
    columns = [robot.joint_names.index(name) for name in robot.base_joints]
    x, y, yaw = (float(snapshot.positions[column]) for column in columns)
    vx, vy, turn = (float(snapshot.velocities[column]) for column in columns)
    cos, sin = math.cos(yaw), math.sin(yaw)
    return BaseState(x, y, yaw, cos * vx + sin * vy, cos * vy - sin * vx, turn, snapshot.stamp_ns)
