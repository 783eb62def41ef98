"""RobotDescription: the manifest with everything that is known about one robot."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Self

from pydantic import Field, model_validator

from openral.manifest.base import CrossCheckError, Model, Name
from openral.manifest.control import ControlMode
from openral.manifest.joint import Joint
from openral.manifest.link import Link
from openral.manifest.parts import EndEffector, Hal, SimModel
from openral.manifest.robot_rules import robot_problems
from openral.manifest.safety import SafetyEnvelope
from openral.manifest.sensor import Camera, DepthCamera, Lidar, Sensor


class RobotKind(StrEnum):
    """What sort of robot it is."""

    ARM = "arm"
    BIMANUAL = "bimanual"
    MOBILE_MANIPULATOR = "mobile_manipulator"
    HUMANOID = "humanoid"


class BaseDrive(StrEnum):
    """How a mobile base moves."""

    HOLONOMIC = "holonomic"
    DIFFERENTIAL = "differential"


class RobotDescription(Model):
    """One robot: its chain, limits, shape, senses, safety envelope and drivers."""

    id: Name
    """The robot's id: the name of its folder, of its topics and on the command line."""
    name: str = Field(min_length=1)
    """The robot's name for people."""
    kind: RobotKind
    """What sort of robot it is."""
    source: str = ""
    """Where the facts come from."""
    embodiment_tags: tuple[Name, ...] = ()
    """Embodiments whose policies fit this robot; its own id always does."""
    base_frame: Name
    """The link that voxels, workspaces and cartesian targets refer to."""
    base_joints: tuple[Name, ...] = ()
    """Joints of a mobile base from the root to base_frame: x, y and yaw."""
    base_drive: BaseDrive = BaseDrive.HOLONOMIC
    """Whether the base can move sideways; twists that a differential base cannot do are refused."""
    links: tuple[Link, ...] = Field(min_length=1)
    """The rigid parts."""
    joints: tuple[Joint, ...] = ()
    """The connections; driven joints appear on the bus and in actions in this order."""
    home: dict[Name, float]
    """A pose that is safe to start from: every driven joint's position."""
    end_effectors: tuple[EndEffector, ...] = ()
    """Hands and tools."""
    allowed_collisions: tuple[tuple[Name, Name], ...] = ()
    """Pairs of links that may touch or overlap, besides neighbours in the chain."""
    sensors: tuple[Sensor, ...] = ()
    """What the robot sees; policies receive cameras in this order."""
    safety: SafetyEnvelope = SafetyEnvelope()
    """What every motion must keep to."""
    control_modes: tuple[ControlMode, ...] = Field(min_length=1)
    """The modes that the robot can execute."""
    sim: SimModel = SimModel()
    """Where its MuJoCo model comes from."""
    hal: Hal = Hal()
    """What drives it."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = robot_problems(self)
        if problems:
            raise CrossCheckError(problems)
        return self

    @cached_property
    def root(self) -> str:
        """Name of the root link: the one that is no joint's child."""
        children = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in children)

    @cached_property
    def driven(self) -> tuple[Joint, ...]:
        """The joints that take commands, in the order used in messages and actions."""
        return tuple(joint for joint in self.joints if joint.actuated)

    @property
    def joint_names(self) -> list[str]:
        """Names of the driven joints."""
        return [joint.name for joint in self.driven]

    @property
    def home_position(self) -> list[float]:
        """The home pose in the order of the driven joints, in rad and m."""
        return [self.home[joint.name] for joint in self.driven]

    def link(self, name: str) -> Link:
        """The link of that name."""
        return next(link for link in self.links if link.name == name)

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        return next(joint for joint in self.joints if joint.name == name)

    @cached_property
    def parent_joint(self) -> dict[str, Joint]:
        """For each link but the root, the joint that moves it."""
        return {joint.child: joint for joint in self.joints}

    @property
    def cameras(self) -> list[Camera | DepthCamera]:
        """Colour and depth cameras."""
        return [sensor for sensor in self.sensors if not isinstance(sensor, Lidar)]

    @property
    def lidars(self) -> list[Lidar]:
        """Laser scanners."""
        return [sensor for sensor in self.sensors if isinstance(sensor, Lidar)]
