"""Makes a robot manifest from an MJCF or URDF model, ready for review."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from openral.errors import ConfigError, ManifestError, OpenralError
from openral.manifest import ControlMode, RobotDescription, collision_pairs
from openral.manifest.base import Transform
from openral.manifest.joint import Joint, JointRole
from openral.manifest.kinematics import transform, vec3
from openral.manifest.parts import EndEffector, SimModel
from openral.manifest.robot import RobotKind
from openral.manifest.sensor import Camera, Mount
from openral.sim.importing.chain import Chain, read_chain
from openral.sim.importing.motors import Motors, clean
from openral.sim.importing.urdf import UrdfExtras, read_extras
from openral.sim.twin.clearance import SelfClearance, random_positions
from openral.sim.twin.model_source import read_model

_SAMPLES = 4000
_ALWAYS = 0.95  # pairs that touch in this share of all poses cannot be kept apart
_ARM_MODES = (
    ControlMode.JOINT_POSITION,
    ControlMode.JOINT_VELOCITY,
    ControlMode.JOINT_TORQUE,
    ControlMode.JOINT_TRAJECTORY,
)
_HAND_MODES = (
    ControlMode.CARTESIAN_POSE,
    ControlMode.CARTESIAN_DELTA,
    ControlMode.CARTESIAN_TWIST,
)


@dataclass
class Imported:
    """A manifest and notes on what a reviewer should check."""

    robot: RobotDescription
    notes: list[str] = field(default_factory=list)


def import_model(path: Path, robot_id: str | None = None) -> Imported:
    """Makes a manifest from an MJCF or URDF file."""
    extras = read_extras(path) if path.is_file() else UrdfExtras()
    spec = read_model(path)
    if extras.root:  # a URDF: keep what MuJoCo would merge or discard
        spec.compiler.fusestatic = False
        spec.compiler.discardvisual = False
    return import_spec(spec, clean(robot_id or path.stem, "robot"), path.name, extras)


def import_spec(
    spec: mujoco.MjSpec, robot_id: str, source: str, extras: UrdfExtras | None = None
) -> Imported:
    """Makes a manifest from a model in memory."""
    extras = extras or UrdfExtras()
    try:
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise ConfigError(f"{source} does not compile: {error}") from None
    motors = Motors(model, extras)
    try:
        chain = read_chain(model, extras, motors)
        robot = _assemble(model, chain, robot_id, source)
    except ManifestError:
        raise
    except OpenralError as error:
        raise ConfigError(f"{source}: {error}") from None
    except ValueError as error:
        raise ConfigError(f"{source} cannot become a manifest: {error}") from None
    return _keep_apart(robot, motors.notes)


def _assemble(model: mujoco.MjModel, chain: Chain, robot_id: str, source: str) -> RobotDescription:
    effectors = _end_effectors(model, chain)
    gripper = any(effector.gripper for effector in effectors)
    modes = [*_ARM_MODES]
    modes += [*_HAND_MODES] if effectors else []
    modes += [ControlMode.GRIPPER_POSITION, ControlMode.GRIPPER_BINARY] if gripper else []
    modes += [ControlMode.COMPOSITE_MODE]
    root = chain.links[0].name
    if chain.floating:
        kind = RobotKind.HUMANOID
    else:
        kind = RobotKind.BIMANUAL if len(effectors) > 1 else RobotKind.ARM
    return RobotDescription(
        id=robot_id,
        name=robot_id.replace("_", " ").title(),
        kind=kind,
        source=source,
        base_frame=root,
        links=tuple(chain.links),
        joints=tuple(chain.joints),
        home=_home(model, chain.joints),
        end_effectors=tuple(effectors),
        sensors=tuple(_cameras(model, chain)),
        control_modes=tuple(modes),
        sim=SimModel(base="floating" if chain.floating else "fixed", base_pose=chain.base_pose),
    )


def _home(model: mujoco.MjModel, joints: list[Joint]) -> dict[str, float]:
    """The model's `home` keyframe, else its first, else zero or the nearest limit."""
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, "home")
    key = max(key, 0) if model.nkey else -1
    home = {}
    for joint in joints:
        if not joint.actuated:
            continue
        address = model.joint(joint.sim_joint_name or joint.name).qposadr[0]
        value = float(model.key_qpos[key, address]) if key >= 0 else 0.0
        low, high = joint.position_range
        home[joint.name] = round(min(max(value, low), high), 6)
    return home


def _end_effectors(model: mujoco.MjModel, chain: Chain) -> list[EndEffector]:
    """One per arm: the link that carries a gripper, else the arm's last link."""
    below: dict[str, list[Joint]] = {}
    for joint in chain.joints:
        below.setdefault(joint.parent, []).append(joint)
    arm_tips = [
        joint
        for joint in chain.joints
        if joint.moves and joint.role is JointRole.ARM and not _leads_on(joint, below)
    ]
    found: list[EndEffector] = []
    for tip in arm_tips:
        link, gripper = tip.child, None
        rigid = [link]
        for name in rigid:
            for joint in below.get(name, []):
                if not joint.moves:
                    rigid.append(joint.child)
                elif joint.role in (JointRole.GRIPPER, JointRole.HAND) and joint.actuated:
                    link, gripper = name, gripper or joint.name
        prefix = next((side for side in ("left", "right") if side in tip.child.lower()), "")
        name = f"{prefix}_tcp" if prefix and len(arm_tips) > 1 else "tcp"
        if any(effector.name == name for effector in found):
            name = f"{name}{len(found) + 1}"
        pose = _tool_point(model, chain, rigid, link)
        found.append(EndEffector(name=name, link=link, tcp=pose, gripper=gripper))
    return found


def _leads_on(joint: Joint, below: dict[str, list[Joint]]) -> bool:
    """Whether another arm joint follows further down the tree."""
    return any(
        (child.role is JointRole.ARM and child.moves) or _leads_on(child, below)
        for child in below.get(joint.child, [])
    )


def _tool_point(model: mujoco.MjModel, chain: Chain, rigid: list[str], link: str) -> Transform:
    """Pose of a site of the link that is named like a tool, else the link's own frame."""
    body_of = {name: body for body, name in chain.link_of_body.items()}
    for site in range(model.nsite):
        name = model.site(site).name.lower()
        body = int(model.site_bodyid[site])
        if body == body_of.get(link) and any(
            word in name for word in ("tcp", "grip", "ee", "tool", "attach")
        ):
            pose = np.eye(4)
            turn = Rotation.from_quat(model.site_quat[site], scalar_first=True)
            pose[:3, :3] = turn.as_matrix()
            pose[:3, 3] = model.site_pos[site] - chain.shift[body]
            return transform(pose)
    return Transform()


def _cameras(model: mujoco.MjModel, chain: Chain) -> list[Camera]:
    from_mujoco = Rotation.from_matrix([[0, -1, 0], [0, 0, 1], [-1, 0, 0]])
    cameras = []
    for index in range(model.ncam):
        body = int(model.cam_bodyid[index])
        if body == 0 and 0 not in chain.link_of_body:
            continue  # a camera of the scene, not part of the robot
        name = model.camera(index).name
        turn = Rotation.from_quat(model.cam_quat[index], scalar_first=True) * from_mujoco
        width, height = (int(v) for v in model.cam_resolution[index])
        own = clean(name, f"camera{index}")
        cameras.append(
            Camera(
                name=own,
                modality="rgb",
                mount=Mount(
                    link=chain.link_of_body[body],
                    xyz=vec3(model.cam_pos[index] - chain.shift[body]),
                    rpy=vec3(turn.as_euler("xyz")),
                ),
                resolution=(width, height) if min(width, height) > 1 else (640, 480),
                fovy_deg=round(float(model.cam_fovy[index]), 4),
                sim_camera_name=name if name and name != own else None,
            )
        )
    return cameras


def _keep_apart(robot: RobotDescription, notes: list[str]) -> Imported:
    """Allows collisions of link pairs that overlap always or at home; all others are checked."""
    solid = [link.name for link in robot.links if link.capsules]
    checked = collision_pairs(robot)
    if not checked:
        return Imported(robot, notes)
    gaps = SelfClearance(robot, checked)
    at_home = gaps.distances([robot.home_position])[0] < robot.safety.self_margin_m
    always = (gaps.distances(random_positions(robot, _SAMPLES)) < 0).mean(axis=0) > _ALWAYS
    allowed = [pair for pair, skip in zip(checked, at_home | always, strict=True) if skip]
    notes += [
        f"{a} and {b} overlap at home and may touch"
        for (a, b), home, ever in zip(checked, at_home, always, strict=True)
        if home and not ever
    ]
    total = len(list(combinations(solid, 2)))
    notes.append(f"{len(checked) - len(allowed)} of {total} pairs of links are kept apart")
    return Imported(robot.model_copy(update={"allowed_collisions": tuple(allowed)}), notes)
