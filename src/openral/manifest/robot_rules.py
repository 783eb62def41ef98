"""What must hold between the parts of a robot manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

from openral.errors import choices
from openral.manifest.base import Location
from openral.manifest.control import ControlMode
from openral.manifest.joint import Joint, JointRole
from openral.manifest.link import Link
from openral.manifest.parts import EndEffector
from openral.manifest.safety import SafetyEnvelope
from openral.manifest.sensor import Camera, DepthCamera, Sensor

Found = Iterator[tuple[Location, str]]


class RobotParts(Protocol):
    """The fields of a robot manifest that are checked against each other."""

    base_frame: str
    base_joints: tuple[str, ...]
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    home: dict[str, float]
    end_effectors: tuple[EndEffector, ...]
    allowed_collisions: tuple[tuple[str, str], ...]
    sensors: tuple[Sensor, ...]
    safety: SafetyEnvelope
    control_modes: tuple[ControlMode, ...]

    @property
    def driven(self) -> tuple[Joint, ...]:
        """The joints that take commands."""

    @property
    def joint_names(self) -> list[str]:
        """Names of the driven joints."""

    @property
    def parent_joint(self) -> dict[str, Joint]:
        """For each link but the root, the joint that moves it."""

    @property
    def cameras(self) -> list[Camera | DepthCamera]:
        """Colour and depth cameras."""


def robot_problems(robot: RobotParts) -> list[tuple[Location, str]]:
    """Everything that is wrong between fields; empty when the manifest is sound."""
    found = [*_names(robot), *_tree(robot)]
    if found:
        return found  # the rest walks the tree and would only add noise
    for rule in (_mimics, _masses, _home, _base, _end_effectors, _allowed, _sensors, _modes):
        found += rule(robot)
    return found


def _repeated(names: Iterable[str | None]) -> set[str]:
    return {name for name, count in Counter(names).items() if name is not None and count > 1}


def _names(robot: RobotParts) -> Found:
    for field, names in (
        ("links", [link.name for link in robot.links]),
        ("joints", [joint.name for joint in robot.joints]),
        ("sensors", [sensor.name for sensor in robot.sensors]),
        ("end_effectors", [effector.name for effector in robot.end_effectors]),
    ):
        for index, name in enumerate(names):
            if name in names[:index]:
                yield (field, index, "name"), f"'{name}' is used twice"
    for name in _repeated(joint.sim_joint_name or joint.name for joint in robot.joints):
        index = max(
            i for i, joint in enumerate(robot.joints) if name in (joint.sim_joint_name, joint.name)
        )
        yield ("joints", index, "name"), f"two joints are called '{name}' in the simulation"


def _tree(robot: RobotParts) -> Found:
    links = [link.name for link in robot.links]
    moved_by: dict[str, Joint] = {}
    for index, joint in enumerate(robot.joints):
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                text = f"joint '{joint.name}' names link '{link}'; {choices(link, links, 'links')}"
                yield ("joints", index, end), text
        if joint.child in moved_by:
            other = moved_by[joint.child].name
            text = f"link '{joint.child}' is the child of both '{other}' and '{joint.name}'"
            yield ("joints", index, "child"), text
        moved_by[joint.child] = joint
    roots = [name for name in links if name not in moved_by]
    if len(roots) > 1:
        text = f"the links are not one tree: {', '.join(roots)} have no parent joint"
        yield ("links", links.index(roots[1])), text
    for name in links:
        if _on_cycle(name, moved_by):
            joint = moved_by[name]
            text = f"joint '{joint.name}' closes a loop through link '{name}'"
            yield ("joints", robot.joints.index(joint)), text
            break
    if robot.base_frame not in links:
        text = f"'{robot.base_frame}' is not a link; {choices(robot.base_frame, links, 'links')}"
        yield ("base_frame",), text


def _on_cycle(name: str, moved_by: dict[str, Joint]) -> bool:
    link = name
    for _ in moved_by:
        if link not in moved_by:
            return False
        link = moved_by[link].parent
        if link == name:
            return True
    return False


def _mimics(robot: RobotParts) -> Found:
    driven = robot.joint_names
    for index, joint in enumerate(robot.joints):
        if joint.mimic is not None and joint.mimic.joint not in driven:
            name = joint.mimic.joint
            text = f"'{joint.name}' follows '{name}'; {choices(name, driven, 'driven joints')}"
            yield ("joints", index, "mimic", "joint"), text


def _masses(robot: RobotParts) -> Found:
    for index, link in enumerate(robot.links):
        joint = robot.parent_joint.get(link.name)
        if joint is None or not joint.moves or link.mass > 0:
            continue
        onward = [other for other in robot.joints if other.parent == link.name]
        # A frame between two joints of one body (a base's x and y) needs no mass of its own.
        bare = not link.solid and len(onward) == 1 and onward[0].moves
        if not bare or any(onward[0].origin.xyz) or any(onward[0].origin.rpy):
            text = f"link '{link.name}' is moved by '{joint.name}' and needs a mass above 0 kg"
            yield ("links", index, "mass"), text


def _home(robot: RobotParts) -> Found:
    driven = robot.joint_names
    for name in robot.home:
        if name not in driven:
            text = f"'{name}' is not a driven joint; {choices(name, driven, 'driven joints')}"
            yield ("home", name), text
    for joint in robot.driven:
        if joint.name not in robot.home:
            yield ("home",), f"'{joint.name}' has no home position"
            continue
        low, high = joint.position_range
        value = robot.home[joint.name]
        if not low <= value <= high:
            text = f"{value:g} is outside the limits of '{joint.name}': [{low:g}, {high:g}]"
            yield ("home", joint.name), text


def _base(robot: RobotParts) -> Found:
    chain, link = [], robot.base_frame
    while link in robot.parent_joint:
        chain.append(robot.parent_joint[link])
        link = chain[-1].parent
    moving = [joint.name for joint in reversed(chain) if joint.moves]
    if moving != list(robot.base_joints):
        text = (
            f"base_joints {list(robot.base_joints)} are not the joints between the root and "
            f"'{robot.base_frame}': {moving}"
        )
        yield ("base_joints",), text
    for index, joint in enumerate(robot.joints):
        if (joint.role is JointRole.BASE) != (joint.name in robot.base_joints):
            text = f"role 'base' and base_joints disagree about '{joint.name}'"
            yield ("joints", index, "role"), text
    caps = robot.safety.base_linear_m_s, robot.safety.base_angular_rad_s
    if robot.base_joints and None in caps:
        text = "a mobile base needs base_linear_m_s and base_angular_rad_s"
        yield ("safety",), text


def _end_effectors(robot: RobotParts) -> Found:
    links = [link.name for link in robot.links]
    for index, effector in enumerate(robot.end_effectors):
        if effector.link not in links:
            text = f"'{effector.link}' is not a link; {choices(effector.link, links, 'links')}"
            yield ("end_effectors", index, "link"), text
        grippers = [j.name for j in robot.driven if j.role in (JointRole.GRIPPER, JointRole.HAND)]
        if effector.gripper is not None and effector.gripper not in grippers:
            name = effector.gripper
            text = f"'{name}' is not a gripper joint; {choices(name, grippers, 'gripper joints')}"
            yield ("end_effectors", index, "gripper"), text


def _allowed(robot: RobotParts) -> Found:
    links = [link.name for link in robot.links]
    for index, pair in enumerate(robot.allowed_collisions):
        for side, name in enumerate(pair):
            if name not in links:
                text = f"'{name}' is not a link; {choices(name, links, 'links')}"
                yield ("allowed_collisions", index, side), text
        if pair[0] == pair[1]:
            yield ("allowed_collisions", index), f"'{pair[0]}' is paired with itself"


def _sensors(robot: RobotParts) -> Found:
    links = [link.name for link in robot.links]
    for index, sensor in enumerate(robot.sensors):
        name = sensor.mount.link
        if name not in links:
            text = f"'{name}' is not a link; {choices(name, links, 'links')}"
            yield ("sensors", index, "mount", "link"), text
    for key in _repeated(camera.vla_feature_key for camera in robot.cameras):
        yield ("sensors",), f"two cameras share the vla_feature_key '{key}'"


def _modes(robot: RobotParts) -> Found:
    has_gripper = any(effector.gripper for effector in robot.end_effectors)
    for index, mode in enumerate(robot.control_modes):
        lacking = ""
        if mode.is_cartesian and not robot.end_effectors:
            lacking = "an end effector"
        elif mode.is_gripper and not has_gripper:
            lacking = "an end effector with a gripper"
        elif mode is ControlMode.BODY_TWIST and not robot.base_joints:
            lacking = "base_joints"
        if lacking:
            yield ("control_modes", index), f"mode '{mode}' needs {lacking}"
