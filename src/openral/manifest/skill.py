"""SkillDescription: the manifest of a skill's observations and actions, and of where it fits."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, JsonValue, model_validator

from openral.errors import choices
from openral.manifest.base import CrossCheckError, Location, Model, Name, Positive
from openral.manifest.control import ControlMode
from openral.manifest.scene import Count


class SkillKind(StrEnum):
    """What decides."""

    SCRIPTED = "scripted"
    POLICY = "policy"
    REMOTE = "remote"


class Representation(StrEnum):
    """What the numbers of a state or action vector are."""

    JOINT_POSITION = "joint_position"
    JOINT_DELTA = "joint_delta"
    JOINT_VELOCITY = "joint_velocity"
    JOINT_TORQUE = "joint_torque"
    EE_POSE = "ee_pose"
    EE_DELTA = "ee_delta"
    EE_TWIST = "ee_twist"
    BASE_TWIST = "base_twist"
    GRIPPER = "gripper"


class AngleUnit(StrEnum):
    """Unit of joint angles in a vector."""

    RADIANS = "radians"
    DEGREES = "degrees"
    NORMALISED = "normalised"


class CameraNeed(Model):
    """A camera that the skill cannot do without."""

    vla_feature_key: str = Field(min_length=1)
    """The key that the robot's camera must carry."""
    resolution: tuple[Count, Count] | None = None
    """Width and height that the policy was trained with; None takes any."""


class Slot(Model):
    """A run of columns with one meaning: an arm, a gripper, the base."""

    name: Name
    """The joint group or end effector that it belongs to."""
    representation: Representation
    """What its numbers are."""
    dimension: Count
    """How many columns it has."""
    joints: tuple[Name, ...] = ()
    """The joints behind the columns, in order; empty: the robot's own order."""
    unit: AngleUnit = AngleUnit.RADIANS
    """Unit of its angles."""
    control_mode: ControlMode | None = None
    """For actions: the mode that the columns are sent in."""


class Contract(Model):
    """Shape and meaning of a vector."""

    dimension: Count
    """Length of the vector."""
    slots: tuple[Slot, ...] = Field(min_length=1)
    """Its parts, in order."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        problems: list[tuple[Location, str]] = []
        total = sum(slot.dimension for slot in self.slots)
        if total != self.dimension:
            text = f"the slots have {total} columns together, the vector has {self.dimension}"
            problems.append((("dimension",), text))
        for index, slot in enumerate(self.slots):
            if slot.joints and len(slot.joints) != slot.dimension:
                text = f"slot '{slot.name}' names {len(slot.joints)} joints for {slot.dimension}"
                problems.append((("slots", index, "joints"), text))
        if problems:
            raise CrossCheckError(problems)
        return self


class NormalisationKind(StrEnum):
    """How raw numbers and those of the policy relate."""

    NONE = "none"
    MEAN_STD = "mean_std"
    MIN_MAX = "min_max"


class Normalisation(Model):
    """How a vector is scaled for the policy: (x - offset) / scale, by column."""

    kind: NormalisationKind = NormalisationKind.NONE
    """Which statistics `offset` and `scale` hold: mean and std, or minimum and range."""
    offset: tuple[float, ...] = ()
    """Mean or minimum of each column."""
    scale: tuple[Positive, ...] = ()
    """Standard deviation or range of each column."""


class SkillDescription(Model):
    """One skill: a policy or a script, and the contract that it works under."""

    id: Name
    """The skill's id."""
    name: str = Field(min_length=1)
    """The skill's name for people."""
    kind: SkillKind
    """What decides."""
    entry_point: str = Field(min_length=1)
    """Name of an installed `openral.skills` entry point that makes it."""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    """Passed to the entry point: a checkpoint's path, a server's address."""
    embodiment_tags: tuple[Name, ...] = ()
    """Robots that it was made for, by id or tag; empty: any."""
    cameras: tuple[CameraNeed, ...] = ()
    """Cameras that it needs."""
    state: Contract | None = None
    """The state vector that it reads."""
    action: Contract
    """The action vector that it answers with."""
    chunk_size: Count = 1
    """Rows in one answer."""
    rate_hz: Positive
    """Rows a second: a chunk's dt is 1 / rate_hz."""
    starting_pose: dict[Name, float] | None = None
    """Where the robot must be when it begins; None: anywhere."""
    state_normalisation: Normalisation = Normalisation()
    """How the state is scaled for the policy."""
    action_normalisation: Normalisation = Normalisation()
    """How the policy's answer is scaled."""
    timeout_s: Annotated[float, Field(gt=0)] | None = None
    """Longest time that one answer may take."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems: list[tuple[Location, str]] = []
        modes = [str(mode) for mode in ControlMode]
        for index, slot in enumerate(self.action.slots):
            if slot.control_mode is None:
                text = f"slot '{slot.name}' needs a control mode; {choices('', modes)}"
                problems.append((("action", "slots", index, "control_mode"), text))
        for field, contract in (("state", self.state), ("action", self.action)):
            problems += self._scaling(field, contract)
        if problems:
            raise CrossCheckError(problems)
        return self

    def _scaling(self, field: str, contract: Contract | None) -> list[tuple[Location, str]]:
        scaling: Normalisation = getattr(self, f"{field}_normalisation")
        width = contract.dimension if contract and scaling.kind is not NormalisationKind.NONE else 0
        return [
            (
                (f"{field}_normalisation", part),
                f"{len(getattr(scaling, part))} numbers for {width} columns",
            )
            for part in ("offset", "scale")
            if len(getattr(scaling, part)) != width
        ]
