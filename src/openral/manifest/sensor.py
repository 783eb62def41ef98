"""Sensors of a robot: cameras, depth cameras and lidars, with their mounts and rates."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from openral.manifest.base import CrossCheckError, Model, Name, Positive, Vec3


class Mount(Model):
    """Where a sensor sits: x points forward along its view, z up."""

    link: Name
    """Link that carries the sensor."""
    xyz: Vec3 = (0.0, 0.0, 0.0)
    """Position in the link's frame."""
    rpy: Vec3 = (0.0, 0.0, 0.0)
    """Orientation in the link's frame."""


class Intrinsics(Model):
    """A pinhole camera at its full resolution, in pixels."""

    fx: Positive
    """Focal length along x."""
    fy: Positive
    """Focal length along y."""
    cx: float
    """Principal point's column."""
    cy: float
    """Principal point's row."""

    def scaled(self, factor_x: float, factor_y: float) -> Intrinsics:
        """The same lens at another image size; pixel centres stay at half-integers."""
        return Intrinsics(
            fx=self.fx * factor_x,
            fy=self.fy * factor_y,
            cx=(self.cx + 0.5) * factor_x - 0.5,
            cy=(self.cy + 0.5) * factor_y - 0.5,
        )


class _Sensor(Model):
    name: Name
    """The sensor's name: its topics are /openral/cameras/<name>/… or /scan."""
    mount: Mount
    """Where it sits."""
    rate_hz: Positive = 30.0
    """How often it measures."""
    frame: Name | None = None
    """frame_id of its messages; by default <name>, for cameras <name>_optical_frame."""


class _Lens(_Sensor):
    resolution: tuple[Annotated[int, Field(gt=0)], Annotated[int, Field(gt=0)]] = (640, 480)
    """Width and height in pixels."""
    fovy_deg: Annotated[float, Field(gt=0, lt=180)] | None = None
    """Vertical field of view in degrees: the short way to say what `intrinsics` says."""
    intrinsics: Intrinsics | None = None
    """The pinhole model; give this or fovy_deg."""
    vla_feature_key: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$")
    """Name under which policies know the camera, such as observation.images.camera1."""
    sim_camera_name: str | None = Field(default=None, min_length=1)
    """The camera's name in a scene that brings its own, where that differs."""

    @model_validator(mode="after")
    def _one_lens(self) -> Self:
        if (self.fovy_deg is None) == (self.intrinsics is None):
            text = f"camera '{self.name}' needs exactly one of fovy_deg and intrinsics"
            raise CrossCheckError([(("fovy_deg",), text)])
        return self

    @property
    def key(self) -> str:
        """The camera's key in observations: the end of its feature key, else its name."""
        return self.vla_feature_key.rsplit(".", 1)[-1] if self.vla_feature_key else self.name

    @property
    def frame_id(self) -> str:
        """frame_id of its messages: z forward, x right (REP 103)."""
        return self.frame or f"{self.name}_optical_frame"

    @property
    def lens(self) -> Intrinsics:
        """The pinhole model at full resolution, however it was stated."""
        if self.intrinsics is not None:
            return self.intrinsics
        width, height = self.resolution
        assert self.fovy_deg is not None
        f = height / 2 / math.tan(math.radians(self.fovy_deg) / 2)
        return Intrinsics(fx=f, fy=f, cx=(width - 1) / 2, cy=(height - 1) / 2)


class Camera(_Lens):
    """A colour camera."""

    modality: Literal["rgb"]
    """What it measures."""


class DepthCamera(_Lens):
    """A depth camera: metres as 32-bit floats (REP 118)."""

    modality: Literal["depth"]
    """What it measures."""
    range_m: tuple[Positive, Positive] = (0.3, 5.0)
    """Nearest and farthest distance it can measure."""
    encoding: Literal["32FC1"] = "32FC1"
    """Pixel format."""


class Lidar(_Sensor):
    """A planar laser scanner that turns about its z axis."""

    modality: Literal["lidar_2d"]
    """What it measures."""
    beams: Annotated[int, Field(ge=2)]
    """Rays in one turn."""
    range_m: tuple[Positive, Positive]
    """Nearest and farthest distance it can measure."""
    angle_rad: tuple[float, float] = (-math.pi, math.pi)
    """First and last angle; on a full turn the last beam stops one step short of the first."""

    @property
    def frame_id(self) -> str:
        """frame_id of its messages: x forward, z up."""
        return self.frame or self.name


Sensor = Annotated[Camera | DepthCamera | Lidar, Field(discriminator="modality")]
