"""Reads what MuJoCo's compiler drops from a URDF: speed limits, mimic joints, the root's name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from openral.errors import ConfigError
from openral.manifest.joint import Mimic


@dataclass
class UrdfExtras:
    """Root link, limits and mimic joints, by the names in the URDF."""

    root: str | None = None
    root_mass: float = 0.0
    velocity: dict[str, float] = field(default_factory=dict)
    effort: dict[str, float] = field(default_factory=dict)
    mimic: dict[str, Mimic] = field(default_factory=dict)


def read_extras(path: Path) -> UrdfExtras:
    """Reads a URDF file; an MJCF file has no extras."""
    try:
        robot = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise ConfigError(f"{path} is not valid XML: {error}") from None
    if robot.tag != "robot":
        return UrdfExtras()
    extras = UrdfExtras()
    children = {child.get("link") for child in robot.findall("joint/child")}
    for link in robot.findall("link"):
        if link.get("name") not in children:
            extras.root = link.get("name")
            mass = link.find("inertial/mass")
            extras.root_mass = float(mass.get("value", 0)) if mass is not None else 0.0
            break
    for joint in robot.findall("joint"):
        name = joint.get("name", "")
        if (limit := joint.find("limit")) is not None:
            for key, into in (("velocity", extras.velocity), ("effort", extras.effort)):
                if float(limit.get(key, 0)) > 0:
                    into[name] = float(limit.get(key, 0))
        if (mimic := joint.find("mimic")) is not None:
            extras.mimic[name] = Mimic(
                joint=mimic.get("joint", ""),
                multiplier=float(mimic.get("multiplier", 1)),
                offset=float(mimic.get("offset", 0)),
            )
    return extras
