"""The calibration file of an arm: which servo moves which joint, and how ticks map to radians."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from openral.errors import ConfigError, ManifestError, Problem, choices
from openral.hal.drivers.feetech.protocol import MAX_ID
from openral.hal.drivers.feetech.registers import HOMING_OFFSET, TICKS
from openral.manifest import RobotDescription, load_yaml, user_robots
from openral.manifest.base import CrossCheckError, Location, Model, Name
from openral.manifest.joint import Joint

RADIANS_PER_TICK = 2 * math.pi / TICKS
# 3D-printed stops differ between arms by less than this at either end (rad).
RANGE_TOLERANCE = 0.3

Tick = Annotated[int, Field(ge=0, lt=TICKS)]


class JointCalibration(Model):
    """How one servo's ticks map to its joint's radians."""

    id: int = Field(ge=0, le=MAX_ID)
    """The servo's id on the bus."""
    homing_offset: int = Field(ge=HOMING_OFFSET.limits[0], le=HOMING_OFFSET.limits[1])
    """Ticks that the servo itself subtracts; connect refuses a servo with another value."""
    zero: int = Field(gt=-TICKS, lt=2 * TICKS)
    """The tick at which the joint is at 0 rad; may lie beyond the reachable ticks."""
    range: tuple[Tick, Tick]
    """The lowest and highest reachable tick."""
    direction: Literal[1, -1] = 1
    """1 if ticks grow with radians, else -1."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        low, high = self.range
        if low >= high:
            problem = f"range is reversed or empty: {low} is not below {high}"
            raise CrossCheckError([(("range",), problem)])
        return self

    def to_radians(self, ticks: float) -> float:
        """The joint's position in rad at a tick."""
        return self.direction * (ticks - self.zero) * RADIANS_PER_TICK

    def to_ticks(self, radians: float) -> int:
        """The tick nearest to a position."""
        return round(self.zero + self.direction * radians / RADIANS_PER_TICK)

    @property
    def range_radians(self) -> tuple[float, float]:
        """The range as joint positions in rad, lowest first."""
        low, high = sorted(self.to_radians(tick) for tick in self.range)
        return low, high

    def allowed(self, joint: Joint) -> tuple[float, float]:
        """Range in rad within both the manifest's limits and the calibrated range."""
        low, high = self.range_radians
        return max(low, joint.position_range[0]), min(high, joint.position_range[1])


class Calibration(Model):
    """One arm's calibration file."""

    robot: Name
    """Id of the robot that it was made for."""
    joints: dict[str, JointCalibration] = Field(min_length=1)
    """Every driven joint by the manifest's name."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        problems: list[tuple[Location, str]] = []
        owner: dict[int, str] = {}
        for name, joint in self.joints.items():
            if joint.id in owner:
                text = f"servo {joint.id} already moves '{owner[joint.id]}'"
                problems.append((("joints", name, "id"), text))
            owner.setdefault(joint.id, name)
        if problems:
            raise CrossCheckError(problems)
        return self

    def in_order(self, robot: RobotDescription) -> list[JointCalibration]:
        """The joints in the manifest's order."""
        return [self.joints[name] for name in robot.joint_names]


def default_path(robot: RobotDescription) -> Path:
    """The file of a robot's calibration unless another path is given."""
    return user_robots().parent / "calibration" / f"{robot.id}.yaml"


def load_calibration(path: Path, robot: RobotDescription) -> Calibration:
    """Reads and checks a calibration file (YAML; JSON is YAML too)."""
    if not path.is_file():
        raise ConfigError(
            f"no calibration at {path}; make one: "
            f"openral feetech calibrate --robot {robot.id} --port PORT"
        )
    calibration = load_yaml(Calibration, path)
    if problems := calibration_problems(calibration, robot):
        raise ManifestError(path, problems)
    return calibration


def calibration_problems(calibration: Calibration, robot: RobotDescription) -> list[Problem]:
    """Why a calibration does not fit a robot; empty when it does."""
    problems = []
    if calibration.robot != robot.id:
        text = f"made for '{calibration.robot}', not for '{robot.id}'"
        problems.append(Problem(text, "robot"))
    names = robot.joint_names
    for name in calibration.joints:
        if name not in names:
            text = f"no driven joint '{name}'; {choices(name, names, 'joints')}"
            problems.append(Problem(text, f"joints.{name}"))
    for joint in robot.driven:
        if joint.name not in calibration.joints:
            problems.append(Problem("is missing", f"joints.{joint.name}"))
        elif text := range_problem(calibration.joints[joint.name], joint):
            problems.append(Problem(text, f"joints.{joint.name}.range"))
    return problems


def range_problem(calibration: JointCalibration, joint: Joint) -> str:
    """Why a calibrated range does not fit the joint's limits; empty when it does."""
    low, high = calibration.range_radians
    least, most = joint.position_range
    if max(abs(low - least), abs(high - most)) <= RANGE_TOLERANCE:
        return ""
    return (
        f"[{low:.3f}, {high:.3f}] rad does not fit the manifest's [{least:.3f}, {most:.3f}] "
        f"within {RANGE_TOLERANCE} rad; wrong joint, direction or zero, or not swept to both stops"
    )


def require_fit(calibration: Calibration, robot: RobotDescription, source: str) -> None:
    """Refuses a calibration that does not fit the robot, with every reason."""
    problems: Iterable[Problem] = calibration_problems(calibration, robot)
    if problems:
        raise ManifestError(source, problems)
