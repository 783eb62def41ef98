"""Links: mass, inertia and shape of the rigid parts of a robot."""

from __future__ import annotations

from pydantic import Field

from openral.manifest.base import Model, Name, NonNegative, Positive, Vec3


class LinkCapsule(Model):
    """All points within `radius` of the segment from `p0` to `p1`, in the link's frame."""

    p0: Vec3
    """One end of the segment."""
    p1: Vec3
    """The other end; equal to p0 for a sphere."""
    radius: Positive
    """Radius in metres."""


class LinkBox(Model):
    """A box in the link's frame."""

    xyz: Vec3
    """Its centre."""
    half: tuple[Positive, Positive, Positive]
    """Half of its size along its own axes."""
    rpy: Vec3 = (0.0, 0.0, 0.0)
    """Its orientation."""


class Link(Model):
    """One rigid part: what it weighs and which space it fills."""

    name: Name
    """The link's name, also its TF frame."""
    mass: NonNegative = 0.0
    """Mass in kg; zero only for the root and for frames without a body."""
    com: Vec3 | None = None
    """Centre of mass; the middle of the geometry when absent."""
    inertia: tuple[float, float, float, float, float, float] | None = None
    """xx, yy, zz, xy, xz, yz about the centre of mass; from the geometry when absent."""
    capsules: tuple[LinkCapsule, ...] = ()
    """What the safety kernel checks: together they contain the whole link."""
    boxes: tuple[LinkBox, ...] = ()
    """What the twin touches the world with instead of its capsules: fingertips, feet, a chassis."""
    hull: tuple[Vec3, ...] = Field(default=(), repr=False)
    """Corner points of the link's convex hull: drawn by the twin, used to check the capsules."""
    sim_body_name: str | None = Field(default=None, min_length=1)
    """The link's name in the robot's simulation model, where that differs."""

    @property
    def solid(self) -> bool:
        """Whether the link has collision geometry."""
        return bool(self.capsules or self.boxes)
