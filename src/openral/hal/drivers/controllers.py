"""The ros2_control controllers of a robot: their joints and the messages that they accept."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import numpy as np
from pydantic import ValidationError

from openral.errors import ConfigError, choices
from openral.manifest import RobotDescription
from openral.manifest.base import Model
from openral.ros import msg
from openral.ros.clock import NS
from openral.ros.codec import types


class ControllerKind(StrEnum):
    """Kinds of controllers that can follow a stream of joint positions."""

    TRAJECTORY = "trajectory"
    """joint_trajectory_controller: trajectory_msgs/JointTrajectory on <name>/joint_trajectory."""
    POSITION = "position"
    """forward_command_controller: std_msgs/Float64MultiArray on <name>/commands."""


class Controller(Model):
    """One controller of the robot's ros2_control driver."""

    kind: ControllerKind = ControllerKind.TRAJECTORY
    """The kind of controller, which decides the message type."""
    joints: tuple[str, ...] = ()
    """Its joints by manifest name, in its own order; empty: all driven joints."""

    @property
    def type_name(self) -> str:
        """The message type that it accepts."""
        if self.kind is ControllerKind.TRAJECTORY:
            return "trajectory_msgs/msg/JointTrajectory"
        return "std_msgs/msg/Float64MultiArray"

    def topic(self, name: str) -> str:
        """Its command topic, relative to the driver's namespace."""
        part = "joint_trajectory" if self.kind is ControllerKind.TRAJECTORY else "commands"
        return f"{name}/{part}"

    def message(self, names: list[str], positions: np.ndarray[Any, Any], seconds: float) -> Any:
        """A command for its joints, in rad or m, to be reached in `seconds`."""
        if self.kind is ControllerKind.POSITION:
            return types.new(self.type_name, data=positions)
        point = msg.JointTrajectoryPoint(
            positions=positions,
            time_from_start=_duration(seconds),
        )
        return types.new(self.type_name, joint_names=names, points=[point])


def parse_controllers(
    robot: RobotDescription, given: Mapping[str, Any] | None
) -> dict[str, Controller]:
    """Controllers by name; together they drive every joint of the robot exactly once."""
    stated = given or {"joint_trajectory_controller": {}}
    found: dict[str, Controller] = {}
    if not isinstance(stated, Mapping):
        raise ConfigError(
            f"controllers of '{robot.id}' are {given!r}; valid: names with their fields, such as "
            "{arm_controller: {kind: trajectory}}"
        )
    for name, fields in stated.items():
        try:
            parsed = Controller.model_validate(fields)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(str(part) for part in problem["loc"])
            text = f"controller '{name}': {where} is {problem['input']!r}: {problem['msg']}"
            raise ConfigError(text) from None
        joints = parsed.joints or tuple(robot.joint_names)
        found[name] = parsed.model_copy(update={"joints": joints})
    driven = [joint for controller in found.values() for joint in controller.joints]
    for joint in driven:
        if joint not in robot.joint_names:
            text = choices(joint, robot.joint_names, "joints")
            raise ConfigError(f"controllers of '{robot.id}': no joint '{joint}'; {text}")
        if driven.count(joint) > 1:
            raise ConfigError(f"controllers of '{robot.id}' drive '{joint}' twice")
    if missing := [joint for joint in robot.joint_names if joint not in driven]:
        raise ConfigError(f"no controller of '{robot.id}' drives {', '.join(missing)}")
    return found


def _duration(seconds: float) -> msg.Duration:
    ns = round(seconds * NS)
    return msg.Duration(sec=ns // NS, nanosec=ns % NS)
