"""Joints: how links are connected, with limits of position, velocity and effort."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from openral.manifest.base import (
    CrossCheckError,
    Location,
    Model,
    Name,
    NonNegative,
    Positive,
    Transform,
    Vec3,
)

# A limit beyond these is not in radians or metres (the usual slips: degrees and millimetres).
_MAX_ANGLE = 4 * math.pi + 1e-6
_MAX_ANGULAR_SPEED = 60.0
_MAX_TRAVEL = 50.0
_MAX_LINEAR_SPEED = 20.0


class JointType(StrEnum):
    """How a joint moves."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    FIXED = "fixed"


class JointRole(StrEnum):
    """What part of the robot a joint belongs to."""

    ARM = "arm"
    GRIPPER = "gripper"
    HAND = "hand"
    BASE = "base"
    LEG = "leg"
    WAIST = "waist"
    HEAD = "head"


class JointLimits(Model):
    """Limits in SI units: radians and N·m for turning joints, metres and N for sliding ones."""

    position: tuple[float, float] | None = None
    """Lowest and highest position; only a continuous joint has none."""
    velocity: Positive
    """Highest speed."""
    effort: Positive
    """Highest torque or force."""
    acceleration: Positive | None = None
    """Highest acceleration, where the maker states one."""


class Mimic(Model):
    """This joint follows another: position = multiplier × other + offset."""

    joint: Name
    """The joint that is followed."""
    multiplier: float = 1.0
    """Ratio of the positions."""
    offset: float = 0.0
    """Position when the other joint is at zero."""


class Dynamics(Model):
    """What the twin's joint feels besides the motor."""

    damping: NonNegative = 0.0
    """Torque per speed."""
    armature: NonNegative = 0.0
    """Inertia of the rotor as seen at the joint."""
    friction: NonNegative = 0.0
    """Dry friction."""


class Drive(Model):
    """Gains of the twin's position servo."""

    kp: Positive
    """Effort per position error."""
    kd: NonNegative
    """Effort per speed."""


class Joint(Model):
    """A connection between a parent and a child link; the child's frame is the joint's frame."""

    name: Name
    """The joint's canonical name: the one on the bus."""
    type: JointType
    """How it moves."""
    parent: Name
    """Link that carries the joint."""
    child: Name
    """Link that the joint moves."""
    origin: Transform = Transform()
    """The joint's frame in the parent link."""
    axis: Vec3 = (0.0, 0.0, 1.0)
    """Axis in the joint's own frame."""
    limits: JointLimits | None = None
    """Limits; every joint that moves has them, a mimic joint inherits the other's."""
    role: JointRole = JointRole.ARM
    """The part of the robot it belongs to."""
    mimic: Mimic | None = None
    """Set when the joint has no motor of its own."""
    sim_joint_name: str | None = Field(default=None, min_length=1)
    """The joint's name in the robot's simulation model, where that differs."""
    dynamics: Dynamics = Dynamics()
    """Passive forces of the twin's joint."""
    drive: Drive | None = None
    """Servo gains of the twin; chosen from limits and inertia when absent."""

    @property
    def moves(self) -> bool:
        """Whether the joint has a degree of freedom, driven or not."""
        return self.type is not JointType.FIXED

    @property
    def actuated(self) -> bool:
        """Whether the joint takes commands."""
        return self.moves and self.mimic is None

    @property
    def linear(self) -> bool:
        """Whether its positions are in m rather than rad."""
        return self.type is JointType.PRISMATIC

    @property
    def position_range(self) -> tuple[float, float]:
        """Lowest and highest position in rad or m, infinite where the joint has none."""
        if self.limits is None or self.limits.position is None:
            return (-math.inf, math.inf)
        return self.limits.position

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = self._problems()
        if problems:
            raise CrossCheckError(problems)
        return self

    def _problems(self) -> list[tuple[Location, str]]:
        found: list[tuple[Location, str]] = []
        if self.parent == self.child:
            found.append((("child",), f"joint '{self.name}' connects '{self.child}' to itself"))
        if not self.moves:
            if self.limits or self.mimic:
                found.append((("type",), f"fixed joint '{self.name}' has limits or a mimic"))
            return found
        if math.hypot(*self.axis) < 1e-6:
            found.append((("axis",), f"axis of '{self.name}' has no direction"))
        if self.mimic is not None:
            if self.mimic.multiplier == 0:
                found.append((("mimic", "multiplier"), f"'{self.name}' follows with factor zero"))
            return found
        if self.limits is None:
            text = f"joint '{self.name}' moves and needs limits: position, velocity and effort"
            return [*found, (("limits",), text)]
        return found + self._limit_problems(self.limits)

    def _limit_problems(self, limits: JointLimits) -> list[tuple[Location, str]]:
        found: list[tuple[Location, str]] = []
        travel, speed, unit, slip = (
            (_MAX_TRAVEL, _MAX_LINEAR_SPEED, "m", "millimetres")
            if self.linear
            else (_MAX_ANGLE, _MAX_ANGULAR_SPEED, "rad", "degrees")
        )
        if limits.velocity > speed:
            text = f"{limits.velocity:g} {unit}/s is beyond {speed:g}; is it in {slip}?"
            found.append((("limits", "velocity"), text))
        at = ("limits", "position")
        if self.type is JointType.CONTINUOUS:
            if limits.position is not None:
                found.append((at, f"continuous joint '{self.name}' takes no position limits"))
            return found
        if limits.position is None:
            return [*found, (at, f"joint '{self.name}' needs its lowest and highest position")]
        low, high = limits.position
        if low >= high:
            found.append((at, f"limits are reversed or empty: {low:g} is not below {high:g}"))
        if max(abs(low), abs(high)) > travel:
            text = f"[{low:g}, {high:g}] {unit} is beyond ±{travel:.4g}; is it in {slip}?"
            found.append((at, text))
        return found
