"""ControlMode: the control modes, in the order of their byte values in messages."""

from __future__ import annotations

from enum import StrEnum


class ControlMode(StrEnum):
    """How the numbers of an action are meant; `byte` is the value in ActionChunk.control_mode."""

    JOINT_POSITION = "joint_position"
    JOINT_VELOCITY = "joint_velocity"
    JOINT_TORQUE = "joint_torque"
    JOINT_TRAJECTORY = "joint_trajectory"
    CARTESIAN_POSE = "cartesian_pose"
    CARTESIAN_DELTA = "cartesian_delta"
    CARTESIAN_TWIST = "cartesian_twist"
    BODY_TWIST = "body_twist"
    FOOT_PLACEMENT = "foot_placement"
    GRIPPER_BINARY = "gripper_binary"
    GRIPPER_POSITION = "gripper_position"
    DEX_HAND_JOINT = "dex_hand_joint"
    COMPOSITE_MODE = "composite_mode"

    @property
    def byte(self) -> int:
        """The mode's value in messages."""
        return list(ControlMode).index(self)

    @property
    def is_cartesian(self) -> bool:
        """Whether rows move an end effector rather than joints."""
        return self.value.startswith("cartesian_")

    @property
    def is_gripper(self) -> bool:
        """Whether rows move a gripper."""
        return self.value.startswith("gripper_")
