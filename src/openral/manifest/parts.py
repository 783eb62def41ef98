"""Smaller parts of a robot manifest: end effectors, simulation model and HAL."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from openral.manifest.base import Model, Name, Transform


class EndEffector(Model):
    """A hand or tool: the point that cartesian actions move."""

    name: Name
    """Its name; slots of an action refer to it."""
    link: Name
    """Link that carries it."""
    tcp: Transform = Transform()
    """The tool centre point in that link: z out of the hand."""
    gripper: Name | None = None
    """The joint that opens and closes it."""


class SimModel(Model):
    """Where the robot's MuJoCo model comes from."""

    mjcf_uri: str = Field(default="twin:", pattern=r"^(twin:|(menagerie|package|file):.+)$")
    """twin: (made from this manifest), menagerie:FOLDER/MODEL, package:MODULE/PATH or file:PATH."""
    reference_uri: str | None = Field(default=None, pattern=r"^(menagerie|package|file):.+$")
    """A published model of the same robot that `robot check` compares with when it is there."""
    base: Literal["fixed", "floating"] = "fixed"
    """Whether the root is bolted to the world or free to fall."""
    base_pose: Transform = Transform()
    """Where the root stands in an empty world: a humanoid's pelvis height."""


class Hal(Model):
    """Which hardware abstraction drives the robot, by the names that are installed."""

    sim: Name = "mujoco"
    """HAL for the bare twin."""
    real: Name | None = None
    """HAL for the hardware; none when the maker's driver is not supported yet."""
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    """Defaults for the hardware's HAL; an explicit transport wins over them."""
