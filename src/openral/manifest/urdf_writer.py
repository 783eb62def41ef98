"""Writes a robot's URDF from its manifest: what RViz and planners expect on /robot_description."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from scipy.spatial.transform import Rotation

from openral.manifest import RobotDescription
from openral.manifest.joint import Joint, JointType
from openral.manifest.link import Link, LinkBox, LinkCapsule

_SHADE = "0.75 0.77 0.80 1"


def urdf_text(robot: RobotDescription) -> str:
    """The URDF of the tree from the root, for a mobile robot from its base frame (REP 105)."""
    root = Element("robot", name=robot.id)
    material = SubElement(root, "material", name="openral")
    SubElement(material, "color", rgba=_SHADE)
    hidden = _before_base(robot)
    for link in robot.links:
        if link.name not in hidden:
            _add_link(root, link)
    for joint in robot.joints:
        if joint.parent not in hidden:
            _add_joint(root, joint, _range(robot, joint))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _before_base(robot: RobotDescription) -> set[str]:
    """Virtual links of a mobile base's joints, which odometry replaces."""
    parents = {joint.child: joint.parent for joint in robot.joints}
    found, link = set(), robot.base_frame
    while robot.base_joints and link in parents:
        link = parents[link]
        found.add(link)
    return found


def _add_link(root: Element, link: Link) -> None:
    element = SubElement(root, "link", name=link.name)
    if link.mass > 0:
        inertial = SubElement(element, "inertial")
        SubElement(inertial, "origin", xyz=_text(link.com or (0.0, 0.0, 0.0)))
        SubElement(inertial, "mass", value=f"{link.mass:g}")
        xx, yy, zz, xy, xz, yz = link.inertia or _ball(link.mass)
        names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        values = (xx, yy, zz, xy, xz, yz)
        text = {name: f"{value:g}" for name, value in zip(names, values, strict=True)}
        SubElement(inertial, "inertia", text)
    for tag in ("visual", "collision"):
        for box in link.boxes:
            _add_box(element, tag, box)
        # The visual is the twin's contact geometry: boxes, or capsules where there is no box.
        if not link.boxes or tag == "collision":
            for capsule in link.capsules:
                _add_capsule(element, tag, capsule)


def _ball(mass: float) -> tuple[float, float, float, float, float, float]:
    """Inertia of a ball of 10 cm, for links whose manifest leaves it to the geometry."""
    moment = 0.4 * mass * 0.05**2
    return (moment, moment, moment, 0.0, 0.0, 0.0)


def _add_box(link: Element, tag: str, box: LinkBox) -> None:
    geometry = _shape(link, tag, box.xyz, box.rpy)
    SubElement(geometry, "box", size=_text([2 * v for v in box.half]))


def _add_capsule(link: Element, tag: str, capsule: LinkCapsule) -> None:
    """URDF has no capsules: adds a cylinder and two spheres."""
    ends = np.array(capsule.p0), np.array(capsule.p1)
    along = ends[1] - ends[0]
    length = float(np.linalg.norm(along))
    radius = f"{capsule.radius:g}"
    for end in ends if length > 1e-6 else ends[:1]:
        SubElement(_shape(link, tag, end.tolist()), "sphere", radius=radius)
    if length > 1e-6:
        turn = Rotation.align_vectors([along / length], [[0.0, 0.0, 1.0]])[0]
        rpy = turn.as_euler("xyz", suppress_warnings=True).tolist()
        geometry = _shape(link, tag, ((ends[0] + ends[1]) / 2).tolist(), rpy)
        SubElement(geometry, "cylinder", radius=radius, length=f"{length:.6g}")


def _shape(
    link: Element, tag: str, xyz: Sequence[float], rpy: Sequence[float] = (0.0, 0.0, 0.0)
) -> Element:
    element = SubElement(link, tag)
    SubElement(element, "origin", xyz=_text(xyz), rpy=_text(rpy))
    geometry = SubElement(element, "geometry")
    if tag == "visual":
        SubElement(element, "material", name="openral")
    return geometry


def _range(robot: RobotDescription, joint: Joint) -> tuple[float, float]:
    """Position range of a joint; that of a mimic joint follows from the joint it mimics."""
    if joint.mimic is None:
        return joint.position_range
    followed, by = robot.joint(joint.mimic.joint).position_range, joint.mimic
    ends = [by.multiplier * end + by.offset for end in followed]
    return min(ends), max(ends)


def _add_joint(root: Element, joint: Joint, ends: tuple[float, float]) -> None:
    element = SubElement(root, "joint", name=joint.name, type=str(joint.type))
    SubElement(element, "parent", link=joint.parent)
    SubElement(element, "child", link=joint.child)
    SubElement(element, "origin", xyz=_text(joint.origin.xyz), rpy=_text(joint.origin.rpy))
    if joint.type is JointType.FIXED:
        return
    SubElement(element, "axis", xyz=_text(joint.axis))
    if joint.mimic is not None:
        scale, shift = f"{joint.mimic.multiplier:g}", f"{joint.mimic.offset:g}"
        SubElement(element, "mimic", joint=joint.mimic.joint, multiplier=scale, offset=shift)
    limits = {"effort": "0", "velocity": "0"}
    if joint.limits is not None:
        limits = {"effort": f"{joint.limits.effort:g}", "velocity": f"{joint.limits.velocity:g}"}
    if joint.type is not JointType.CONTINUOUS and all(map(math.isfinite, ends)):
        limits |= {"lower": f"{ends[0]:g}", "upper": f"{ends[1]:g}"}
    SubElement(element, "limit", limits)


def _text(values: Sequence[float]) -> str:
    return " ".join(f"{value:.9g}" for value in values)
