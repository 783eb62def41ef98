"""The safety envelope: distances, speeds and ages that the kernel enforces."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from openral.manifest.base import CrossCheckError, Model, NonNegative, Positive, Vec3


class Workspace(Model):
    """A box in the robot's base frame that no end effector may leave."""

    low: Vec3
    """Lowest x, y and z."""
    high: Vec3
    """Highest x, y and z."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if any(a >= b for a, b in zip(self.low, self.high, strict=True)):
            text = f"low {self.low} is not below high {self.high} in every coordinate"
            raise CrossCheckError([(("low",), text)])
        return self


class SafetyEnvelope(Model):
    """What every motion must keep to, on top of the joints' own limits."""

    margin_m: NonNegative = 0.01
    """Least distance to obstacles and occupied voxels."""
    self_margin_m: NonNegative = 0.005
    """Least distance between links of the robot."""
    tracking_error: NonNegative = 0.01
    """How far a joint may be from its commanded path, in rad or m."""
    workspace: Workspace | None = None
    """Where the end effectors may be; anywhere when absent."""
    ee_speed_m_s: Positive = 1.0
    """Highest speed of an end effector."""
    ee_angular_rad_s: Positive = 2.0
    """Highest turning speed of an end effector."""
    cartesian_step_m: Positive = 0.05
    """Longest step between two cartesian rows."""
    cartesian_step_rad: Positive = 0.2
    """Largest turn between two cartesian rows."""
    cartesian_error_m: Positive = 0.005
    """How far an end effector may be from the path that a cartesian chunk asks of it."""
    cartesian_error_rad: Positive = 0.05
    """How far it may be turned from that path; more for an arm with fewer than six joints."""
    base_linear_m_s: Positive | None = None
    """Highest speed of a mobile base."""
    base_angular_rad_s: Positive | None = None
    """Highest turning speed of a mobile base."""
    base_deceleration_m_s2: Positive = 1.0
    """How hard a mobile base brakes: what its stopping distance is computed from."""
    recheck_s: Positive = 0.05
    """How soon a running motion is checked again."""
    stop_s: Positive = 0.1
    """How long the robot needs to stop from full speed."""
    state_max_age_s: Positive = 0.1
    """Oldest joint state that a decision may rest on."""
    world_max_age_s: Positive = 1.0
    """Oldest list of known obstacles that a decision may rest on."""
    voxels_max_age_s: Positive = 0.5
    """Oldest voxel map that a decision may rest on."""
    rate_jitter: NonNegative = 0.05
    """Relative error of the rate at which rows are executed: widens the path of velocity chunks."""
    slow_distance_m: NonNegative = 0.0
    """Motion that comes closer than this to the world is slowed, the more the closer; 0: never."""
    slow_factor: Annotated[float, Field(gt=0.0, le=1.0)] = 0.25
    """The least share of its speed, at the margin; beyond that it is refused."""
    recovery_speed: Positive = 0.1
    """Share of the speed limits that is allowed while backing out of the margin."""
    requires_world: bool = False
    """Refuse motion unless known obstacles have been received."""
    requires_voxels: bool = False
    """Refuse motion unless a voxel map has been received."""
