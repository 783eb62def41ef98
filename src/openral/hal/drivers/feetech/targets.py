"""Converts a row of targets to goal ticks: invalid targets are refused by name, never clamped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from openral.errors import CapabilityMismatch, ConfigError, JointLimitExceeded, choices
from openral.hal.drivers.feetech.calibration import RADIANS_PER_TICK, Calibration
from openral.manifest import RobotDescription


def ticks_of(
    robot: RobotDescription, calibration: Calibration, positions: Sequence[float]
) -> dict[int, int]:
    """Goal ticks by servo id for a row of positions in the manifest's order (rad)."""
    if len(positions) != len(robot.driven):
        raise CapabilityMismatch(
            f"{robot.id} takes {len(robot.driven)} positions "
            f"({', '.join(robot.joint_names)}), got {len(positions)}"
        )
    goals = {}
    for joint, position in zip(robot.driven, positions, strict=True):
        servo = calibration.joints[joint.name]
        low, high = servo.allowed(joint)
        value = float(position)
        # An excess of one tick is rounding: the limit itself must be reachable in ticks.
        if not low - RADIANS_PER_TICK <= value <= high + RADIANS_PER_TICK or math.isnan(value):
            hint = "; is it in degrees?" if low <= math.radians(value) <= high else ""
            raise JointLimitExceeded(
                f"target of joint '{joint.name}' is {value:g} rad, outside "
                f"[{low:.4f}, {high:.4f}]{hint}"
            )
        goals[servo.id] = min(max(servo.to_ticks(value), servo.range[0]), servo.range[1])
    return goals


def require_pose(
    robot: RobotDescription, calibration: Calibration, pose: Mapping[str, float]
) -> list[float]:
    """A pose by joint name as a row (rad); every joint must be named and within its limits."""
    names = robot.joint_names
    for name in pose:
        if name not in names:
            raise ConfigError(f"rest_pose: no joint '{name}'; {choices(name, names, 'joints')}")
    missing = [name for name in names if name not in pose]
    if missing:
        raise ConfigError(f"rest_pose: {', '.join(missing)} missing")
    row = [float(pose[name]) for name in names]
    ticks_of(robot, calibration, row)
    return row
