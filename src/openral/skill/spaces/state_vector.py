"""StateVector: the robot state that a policy reads, in the layout that its manifest declares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from openral.errors import CapabilityMismatch, choices
from openral.manifest import Kinematics, RobotDescription, SkillDescription
from openral.manifest.kinematics import matrix
from openral.manifest.skill import Representation
from openral.skill.spaces.slot_columns import SlotColumns, slot_columns, to_policy

Vector = NDArray[np.float64]

_READABLE = (
    Representation.JOINT_POSITION,
    Representation.JOINT_VELOCITY,
    Representation.GRIPPER,
    Representation.EE_POSE,
)


class StateVector:
    """Assembles the state of one skill on one robot; empty for a skill that reads none."""

    def __init__(self, skill: SkillDescription, robot: RobotDescription) -> None:
        """Raises CapabilityMismatch where the robot does not have what is read."""
        self._scaling = skill.state_normalisation
        self._robot, self._kinematics = robot, Kinematics(robot)
        self._slots: list[SlotColumns] = []
        for slot in skill.state.slots if skill.state else ():
            if slot.representation not in _READABLE:
                names = [str(kind) for kind in _READABLE]
                raise CapabilityMismatch(
                    f"state slot '{slot.name}' reads {slot.representation}; "
                    f"{choices(str(slot.representation), names, 'readable')}"
                )
            self._slots.append(slot_columns(slot, robot))

    def read(self, positions: Vector, velocities: Vector) -> Vector:
        """The state for measured positions and velocities, each (dof,) in the manifest's order."""
        if not self._slots:
            return np.zeros(0)
        parts = [self._part(columns, positions, velocities) for columns in self._slots]
        return to_policy(self._scaling, np.concatenate(parts))

    def _part(self, columns: SlotColumns, positions: Vector, velocities: Vector) -> Vector:
        if columns.slot.representation is Representation.EE_POSE:
            values = self._tool(columns, positions)
        else:
            moving = columns.slot.representation is Representation.JOINT_VELOCITY
            values = (velocities if moving else positions)[list(columns.indices)]
        return np.asarray((values - columns.offset) / columns.scale)

    def _tool(self, columns: SlotColumns, positions: Vector) -> Vector:
        """Pose of the tool in the base frame: x y z in m, quaternion x y z w."""
        assert columns.effector is not None
        effector, links = columns.effector, self._kinematics.links
        poses = self._kinematics.poses(positions)
        tool = poses[links.index(effector.link)] @ matrix(effector.tcp.xyz, effector.tcp.rpy)
        seen = np.linalg.inv(poses[links.index(self._robot.base_frame)]) @ tool
        return np.concatenate([seen[:3, 3], Rotation.from_matrix(seen[:3, :3]).as_quat()])
