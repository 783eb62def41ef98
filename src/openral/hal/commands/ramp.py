"""Ramps from pose to pose: smooth, within the joints' speeds, as chunks that can be checked."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from openral.errors import ConfigError, choices
from openral.manifest import ControlMode, RobotDescription
from openral.ros import msg

Vector = NDArray[np.float64]

# The fraction of a joint's speed limit that a ramp uses, and peak over mean speed of a quintic.
_SPEED_SHARE = 0.5
_QUINTIC_PEAK = 1.875
_DT_S = 0.02
_MOST_ROWS = 200
_LONGEST_S = 120.0


def goal_pose(robot: RobotDescription, pose: Mapping[str, float] | None) -> Vector:
    """Home with the joints in `pose` elsewhere, shape (dof,); ConfigError if out of range."""
    wanted = dict(pose or {})
    for name, value in wanted.items():
        if name not in robot.home:
            raise ConfigError(f"no joint '{name}'; {choices(name, robot.joint_names, 'joints')}")
        low, high = robot.joint(name).position_range
        if not (math.isfinite(value) and low <= value <= high):
            raise ConfigError(f"{value:g} is outside the limits of '{name}': [{low:g}, {high:g}]")
    return np.array([wanted.get(joint.name, robot.home[joint.name]) for joint in robot.driven])


def ramp_chunk(
    robot: RobotDescription, start: Vector, goal: Vector, seconds: float = 0.0
) -> msg.ActionChunk:
    """An ActionChunk that moves all joints from `start` to `goal`, (dof,), in `seconds` or more."""
    speed = np.array([j.limits.velocity for j in robot.driven if j.limits is not None])
    needed = float((np.abs(goal - start) / speed).max(initial=0.0)) * _QUINTIC_PEAK / _SPEED_SHARE
    duration = max(seconds, needed, _DT_S)
    if not duration <= _LONGEST_S:
        raise ConfigError(f"a ramp of {duration:g} s is longer than {_LONGEST_S:g} s")
    rows = min(math.ceil(duration / _DT_S), _MOST_ROWS)  # the kernel does not accept longer chunks
    share = np.arange(1, rows + 1) / rows
    smooth = share**3 * (10.0 + share * (6.0 * share - 15.0))
    slot = msg.ActionSlot(
        control_mode=ControlMode.JOINT_TRAJECTORY.byte,
        joint_names=robot.joint_names,
        width=len(goal),
        data=(start + np.outer(smooth, goal - start)).ravel(),
    )
    return msg.ActionChunk(
        control_mode=ControlMode.JOINT_TRAJECTORY.byte,
        dt=duration / rows,
        rows=rows,
        slots=[slot],
    )
