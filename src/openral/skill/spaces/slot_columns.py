"""SlotColumns: what the columns of a slot are on one robot, and how they convert to SI units."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openral.errors import CapabilityMismatch, choices
from openral.manifest import RobotDescription
from openral.manifest.joint import Joint
from openral.manifest.parts import EndEffector
from openral.manifest.skill import AngleUnit, Normalisation, NormalisationKind, Representation, Slot

Vector = NDArray[np.float64]

ALL = "all"
"""Name of a slot that means every driven joint."""
_JOINTS = {
    Representation.JOINT_POSITION,
    Representation.JOINT_DELTA,
    Representation.JOINT_VELOCITY,
    Representation.JOINT_TORQUE,
}
_WIDTHS = {
    Representation.EE_POSE: 7,
    Representation.EE_DELTA: 6,
    Representation.EE_TWIST: 6,
    Representation.BASE_TWIST: 3,
    Representation.GRIPPER: 1,
}
_NO_ANGLES = {Representation.JOINT_TORQUE, Representation.EE_POSE, Representation.BASE_TWIST}


@dataclass(frozen=True)
class SlotColumns:
    """A slot on a robot: SI value = column · scale + offset."""

    slot: Slot
    joints: tuple[str, ...]
    """The joints behind the columns; empty for tools and the base."""
    indices: tuple[int, ...]
    """Indices of these joints in the manifest's order."""
    effector: EndEffector | None
    """The end effector that it belongs to; None for joints and the base."""
    scale: Vector
    offset: Vector


def slot_columns(slot: Slot, robot: RobotDescription) -> SlotColumns:
    """Resolves a slot on a robot; CapabilityMismatch where the robot lacks what it names."""
    what = slot.representation
    if slot.unit is not AngleUnit.RADIANS and what in _NO_ANGLES:
        raise CapabilityMismatch(
            f"slot '{slot.name}' gives {what} in {slot.unit}; it has no angles: leave the unit out"
        )
    effector = None
    joints: tuple[Joint, ...] = ()
    if what in _JOINTS:
        joints = _joints(slot, robot)
    elif what is Representation.BASE_TWIST:
        if not robot.base_joints:
            raise CapabilityMismatch(f"slot '{slot.name}' drives a base; '{robot.id}' has none")
    else:
        effector = _effector(slot, robot)
        if what is Representation.GRIPPER:
            joints = (_gripper(slot, robot, effector),)
    width = len(joints) or _WIDTHS[what]
    if slot.dimension != width:
        names = ", ".join(joint.name for joint in joints)
        told = f" ({names})" if names else ""
        raise CapabilityMismatch(
            f"slot '{slot.name}' has {slot.dimension} columns of {what}; "
            f"'{robot.id}' needs {width}{told}"
        )
    scale, offset = _units(slot, joints)
    order = robot.joint_names
    return SlotColumns(
        slot,
        tuple(joint.name for joint in joints),
        tuple(order.index(joint.name) for joint in joints),
        effector,
        scale,
        offset,
    )


def _joints(slot: Slot, robot: RobotDescription) -> tuple[Joint, ...]:
    if slot.joints:
        names = robot.joint_names
        for name in slot.joints:
            if name not in names:
                raise CapabilityMismatch(
                    f"slot '{slot.name}' names a joint '{name}' that '{robot.id}' does not have; "
                    f"{choices(name, names, 'joints')}"
                )
            if slot.joints.count(name) > 1:
                raise CapabilityMismatch(f"slot '{slot.name}' names joint '{name}' twice")
        return tuple(robot.joint(name) for name in slot.joints)
    if slot.name == ALL:
        return robot.driven
    found = tuple(joint for joint in robot.driven if joint.role == slot.name)
    if not found:
        groups = [*dict.fromkeys(str(joint.role) for joint in robot.driven), ALL]
        raise CapabilityMismatch(
            f"slot '{slot.name}' is no group of joints of '{robot.id}'; "
            f"{choices(slot.name, groups, 'groups')}, or name its joints"
        )
    return found


def _effector(slot: Slot, robot: RobotDescription) -> EndEffector:
    names = [effector.name for effector in robot.end_effectors]
    if slot.name not in names:
        raise CapabilityMismatch(
            f"slot '{slot.name}' is no end effector of '{robot.id}'; "
            f"{choices(slot.name, names, 'end effectors')}"
        )
    return robot.end_effectors[names.index(slot.name)]


def _gripper(slot: Slot, robot: RobotDescription, effector: EndEffector) -> Joint:
    if effector.gripper is None:
        raise CapabilityMismatch(f"end effector '{slot.name}' of '{robot.id}' has no gripper")
    return robot.joint(effector.gripper)


def _units(slot: Slot, joints: tuple[Joint, ...]) -> tuple[Vector, Vector]:
    scale, offset = np.ones(slot.dimension), np.zeros(slot.dimension)
    if slot.unit is AngleUnit.DEGREES:
        if joints:
            scale[[not joint.linear for joint in joints]] = math.radians(1)
        else:  # a tool's rotation vector or angular velocity
            scale[3:] = math.radians(1)
    elif slot.unit is AngleUnit.NORMALISED:
        for column, joint in enumerate(joints):
            scale[column], offset[column] = _over_range(slot, joint)
        if not joints:
            raise CapabilityMismatch(
                f"slot '{slot.name}' is normalised; only joints have a range to go by"
            )
    return scale, offset


def _over_range(slot: Slot, joint: Joint) -> tuple[float, float]:
    """Scale and offset that map -1 to 1 to a joint's position range or to ± its speed limit."""
    if slot.representation is Representation.JOINT_VELOCITY:
        assert joint.limits is not None
        return joint.limits.velocity, 0.0
    low, high = joint.position_range
    if not math.isfinite(high - low):
        raise CapabilityMismatch(
            f"slot '{slot.name}' is normalised and joint '{joint.name}' turns without end"
        )
    middle = 0.0 if slot.representation is Representation.JOINT_DELTA else (low + high) / 2
    return (high - low) / 2, middle


def to_policy(scaling: Normalisation, raw: Vector) -> Vector:
    """(raw - offset) / scale, by column."""
    if scaling.kind is NormalisationKind.NONE:
        return raw
    return np.asarray((raw - np.array(scaling.offset)) / np.array(scaling.scale))


def from_policy(scaling: Normalisation, scaled: Vector) -> Vector:
    """The reverse of `to_policy`."""
    if scaling.kind is NormalisationKind.NONE:
        return scaled
    return np.asarray(scaled * np.array(scaling.scale) + np.array(scaling.offset))
