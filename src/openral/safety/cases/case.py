"""A recorded stop: the robot's state, its world and the proposed chunk, as one JSON file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from openral.errors import ManifestError, Problem, choices
from openral.manifest.base import CrossCheckError, Location, Model, NonNegative
from openral.manifest.control import ControlMode
from openral.manifest.robot import RobotDescription
from openral.manifest.yaml_file import parse_yaml, read_manifest
from openral.ros.codec.message import Message
from openral.ros.codec.types import new
from openral.safety.cases.case_world import HeldCase, ObstacleCase, VoxelCase

Number = Annotated[float, Field(allow_inf_nan=True)]
"""A number of a state or chunk; the kernel judges values that are not finite."""


class JointCase(Model):
    """One joint as it was measured."""

    position: Number
    """In rad or m."""
    velocity: Number = 0.0
    """In rad/s or m/s."""


class BaseCase(Model):
    """Pose of a mobile base in the odometry frame."""

    x: float = 0.0
    """In m."""
    y: float = 0.0
    """In m."""
    yaw: float = 0.0
    """In rad."""


class TrailCase(BaseCase):
    """An earlier pose of the base."""

    age: NonNegative
    """Time before the verdict, in s."""


class SlotCase(Model):
    """One slot of the chunk: targets for a joint group, an end effector or the base."""

    mode: ControlMode
    """Control mode: what the numbers mean."""
    rows: tuple[tuple[Number, ...], ...] = Field(min_length=1)
    """One list of numbers per row."""
    name: str = ""
    """Joint group or end effector that it drives; empty: the robot's only one."""
    frame_id: str = ""
    """Cartesian modes: frame of the targets; empty: the base frame."""
    joint_names: tuple[str, ...] = ()
    """Joint modes: the joint of each column; empty: the manifest's order."""

    def message(self) -> Message:
        """Converts to an ActionSlot message."""
        out: Message = new(
            "openral_msgs/msg/ActionSlot",
            name=self.name,
            control_mode=self.mode.byte,
            frame_id=self.frame_id,
            joint_names=list(self.joint_names),
            width=len(self.rows[0]),
            data=np.array(self.rows, float).ravel(),
        )
        return out


class ChunkCase(Model):
    """The proposed motion. Several slots make it a composite."""

    dt: Number
    """Seconds between rows."""
    slots: tuple[SlotCase, ...] = Field(min_length=1)
    """Its slots, all with the same number of rows."""
    sequence: Annotated[int, Field(ge=0)] = 0
    """Sequence number of the candidate."""

    @model_validator(mode="after")
    def _rectangular(self) -> Self:
        problems: list[tuple[Location, str]] = []
        count = len(self.slots[0].rows)
        for s, slot in enumerate(self.slots):
            if len(slot.rows) != count:
                text = f"has {len(slot.rows)} rows where the first slot has {count}"
                problems.append((("slots", s, "rows"), text))
            for r, row in enumerate(slot.rows):
                if len(row) != len(slot.rows[0]):
                    text = f"has {len(row)} numbers where row 0 has {len(slot.rows[0])}"
                    problems.append((("slots", s, "rows", r), text))
        if problems:
            raise CrossCheckError(problems)
        return self

    def message(self) -> Message:
        """Converts to an ActionChunk message."""
        alone = len(self.slots) == 1
        mode = self.slots[0].mode if alone else ControlMode.COMPOSITE_MODE
        out: Message = new(
            "openral_msgs/msg/ActionChunk",
            sequence=self.sequence,
            control_mode=mode.byte,
            dt=self.dt,
            rows=len(self.slots[0].rows),
            slots=[slot.message() for slot in self.slots],
        )
        return out


class Ages(Model):
    """Age of each input at the time of the verdict, in s."""

    state: NonNegative = 0.0
    """The joint state."""
    world: NonNegative = 0.0
    """The list of obstacles."""
    voxels: NonNegative = 0.0
    """The voxel map."""
    base: NonNegative = 0.0
    """The base's pose."""


class Case(Model):
    """Everything that a verdict depends on, beside the robot's manifest."""

    state: dict[str, JointCase]
    """Every driven joint as it was measured, by name."""
    world: tuple[ObstacleCase, ...] | None = None
    """The known obstacles; absent: none were ever received."""
    world_fixed: bool = False
    """Whether the obstacles are in the odometry frame instead of the base frame."""
    held: tuple[HeldCase, ...] = ()
    """Attached objects; they count only where `world` is given."""
    voxels: VoxelCase | None = None
    """The voxel map; absent: none was ever received."""
    base: BaseCase | None = None
    """Pose of the base; absent: never received. Fixed robots have none."""
    trail: tuple[TrailCase, ...] = ()
    """Earlier poses of the base, oldest first."""
    chunk: ChunkCase
    """The proposed motion."""
    ages: Ages = Ages()
    """Ages of the inputs."""
    recovering: bool = False
    """Whether an operator had armed recovery."""


def load_case(path: Path, robot: RobotDescription) -> Case:
    """Reads a case for a robot; raises ManifestError with each problem's line and valid choices."""
    return parse_case(read_manifest(path), robot, path)


def parse_case(text: str, robot: RobotDescription, source: Path | str = "case") -> Case:
    """Like load_case for text that is already in memory."""
    case = parse_yaml(Case, text.replace("\t", " "), source)  # JSON is YAML but for its tabs
    known = robot.joint_names
    problems = []
    if odd := [name for name in case.state if name not in known]:
        text = f"'{robot.id}' has no driven joint {', '.join(odd)}; "
        problems.append(Problem(text + choices(odd[0], known, "joints"), "state"))
    if missing := [name for name in known if name not in case.state]:
        problems.append(Problem(f"{', '.join(missing)} missing: a state names all", "state"))
    if case.base is not None and not robot.base_joints:
        problems.append(Problem(f"'{robot.id}' has no mobile base", "base"))
    if problems:
        raise ManifestError(source, problems)
    return case
