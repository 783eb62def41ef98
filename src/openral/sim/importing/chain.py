"""Reads the links and joints of a manifest from a compiled MuJoCo model."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from openral.errors import ConfigError
from openral.manifest.base import Transform
from openral.manifest.joint import Dynamics, Joint, JointType
from openral.manifest.kinematics import transform, vec3
from openral.manifest.link import Link, LinkCapsule
from openral.sim.importing.capsule_fit import fit_capsules
from openral.sim.importing.hull import reduce_hull
from openral.sim.importing.link_points import body_points
from openral.sim.importing.motors import Motors, clean
from openral.sim.importing.urdf import UrdfExtras

_GRID = 1e-4  # capsules are written to a tenth of a millimetre
_SPECK_M = 1e-3


@dataclass
class Chain:
    """Links and joints so far, and the link that each body became."""

    links: list[Link] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    link_of_body: dict[int, str] = field(default_factory=dict)
    shift: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    base_pose: Transform = field(default_factory=Transform)
    floating: bool = False


def read_chain(model: mujoco.MjModel, extras: UrdfExtras, motors: Motors) -> Chain:
    """The model's kinematic tree; ConfigError for what a manifest cannot describe."""
    chain = Chain()
    roots = [body for body in range(1, model.nbody) if model.body_parentid[body] == 0]
    if not roots and not extras.root:
        raise ConfigError("the model has no bodies")
    joints_of = _joints_by_body(model)
    single = len(roots) == 1 and extras.root in (None, model.body(roots[0]).name)
    free = [b for b in range(1, model.nbody) if _kind(model, joints_of[b]) == "free"]
    if free and free != roots[:1]:
        names = ", ".join(model.body(body).name for body in free)
        raise ConfigError(f"free bodies beside the robot: {names}; import the robot alone")
    chain.floating = bool(free)
    if single and (chain.floating or not joints_of[roots[0]]):
        chain.base_pose = transform(_body_pose(model, roots[0]))
    else:
        name = clean(extras.root or "base", "base")
        while any(clean(model.body(b).name, "") == name for b in range(1, model.nbody)):
            name = f"{name}_root"
        chain.link_of_body[0], chain.shift[0] = name, np.zeros(3)
        points = body_points(model, 0) if extras.root else np.zeros((0, 3))
        chain.links.append(_shaped(Link(name=name, mass=extras.root_mass), points))
    for body in range(1, model.nbody):
        _add_body(model, body, joints_of[body], chain, motors)
    return chain


def _joints_by_body(model: mujoco.MjModel) -> list[list[int]]:
    joints: list[list[int]] = [[] for _ in range(model.nbody)]
    for joint in range(model.njnt):
        joints[model.jnt_bodyid[joint]].append(joint)
    return joints


def _kind(model: mujoco.MjModel, joints: list[int]) -> str:
    kinds = {int(model.jnt_type[joint]) for joint in joints}
    if int(mujoco.mjtJoint.mjJNT_BALL) in kinds:
        name = model.joint(joints[0]).name
        raise ConfigError(f"joint '{name}' is a ball joint; use three hinges instead")
    return "free" if int(mujoco.mjtJoint.mjJNT_FREE) in kinds else "chain"


def _body_pose(model: mujoco.MjModel, body: int) -> NDArray[np.float64]:
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat(model.body_quat[body], scalar_first=True).as_matrix()
    pose[:3, 3] = model.body_pos[body]
    return pose


def _add_body(
    model: mujoco.MjModel, body: int, joints: list[int], chain: Chain, motors: Motors
) -> None:
    name = clean(model.body(body).name, f"link{body}")
    hinges = [j for j in joints if int(model.jnt_type[j]) != int(mujoco.mjtJoint.mjJNT_FREE)]
    anchors = [model.jnt_pos[joint] for joint in hinges]
    if anchors and np.ptp(anchors, axis=0).max() > 1e-9:
        raise ConfigError(f"joints of body '{model.body(body).name}' turn about different points")
    shift = np.array(anchors[-1]) if anchors else np.zeros(3)
    parent = int(model.body_parentid[body])
    chain.link_of_body[body], chain.shift[body] = name, shift
    chain.links.append(_link(model, body, name, shift))
    if parent not in chain.link_of_body:
        return  # the root
    pose = _body_pose(model, body)
    pose[:3, 3] += pose[:3, :3] @ shift - chain.shift[parent]
    above = chain.link_of_body[parent]
    if not hinges:
        chain.joints.append(
            Joint(
                name=f"{name}_fixed",
                type=JointType.FIXED,
                parent=above,
                child=name,
                origin=transform(pose),
            )
        )
    for number, joint in enumerate(hinges):
        last = number == len(hinges) - 1
        child = name if last else f"{name}_frame{number}"
        if not last:
            chain.links.insert(-1, Link(name=child))
        chain.joints.append(_joint(model, joint, above, child, pose, motors))
        pose, above = np.eye(4), child


def _joint(
    model: mujoco.MjModel,
    joint: int,
    parent: str,
    child: str,
    pose: NDArray[np.float64],
    motors: Motors,
) -> Joint:
    sim_name = model.joint(joint).name
    name = clean(sim_name, f"joint{joint}")
    slide = int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_SLIDE)
    axis = np.array(model.jnt_axis[joint])
    pose = pose @ _reference(axis, slide, float(model.qpos0[model.jnt_qposadr[joint]]))
    limited = bool(model.jnt_limited[joint])
    reach = model.jnt_range[joint]
    wide = not slide and float(np.ptp(reach)) > 8 * math.pi
    if slide:
        kind = JointType.PRISMATIC
    else:
        kind = JointType.REVOLUTE if limited and not wide else JointType.CONTINUOUS
    dof = int(model.jnt_dofadr[joint])
    mimic = motors.mimic(joint)
    return Joint(
        name=name,
        type=kind,
        parent=parent,
        child=child,
        origin=transform(pose),
        axis=vec3(axis),
        limits=None if mimic else motors.limits(joint, kind),
        role=motors.role(joint, child),
        mimic=mimic,
        sim_joint_name=sim_name if sim_name != name else None,
        dynamics=Dynamics(
            damping=_plain(np.ravel(model.dof_damping[dof])[0]),
            armature=_plain(model.dof_armature[dof]),
            friction=_plain(model.dof_frictionloss[dof]),
        ),
        drive=None if mimic else motors.drive(joint),
    )


def _plain(value: float) -> float:
    return float(f"{float(value):.6g}")


def _reference(axis: NDArray[np.float64], slide: bool, reference: float) -> NDArray[np.float64]:
    """Transform, 4×4, that a model's reference position adds to the joint's frame."""
    out = np.eye(4)
    if slide:
        out[:3, 3] = -reference * axis
    else:
        out[:3, :3] = Rotation.from_rotvec(-reference * axis).as_matrix()
    return out


def _link(model: mujoco.MjModel, body: int, name: str, shift: NDArray[np.float64]) -> Link:
    sim_name = model.body(body).name
    mass = float(model.body_mass[body])
    turn = Rotation.from_quat(model.body_iquat[body], scalar_first=True).as_matrix()
    inertia = turn @ np.diag(model.body_inertia[body]) @ turn.T
    xx, yy, zz, xy, xz, yz = (
        float(f"{inertia[i, j]:.6g}") for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    )
    link = Link(
        name=name,
        mass=_plain(mass),
        com=vec3(model.body_ipos[body] - shift, 6) if mass > 0 else None,
        inertia=(xx, yy, zz, xy, xz, yz) if mass > 0 else None,
        sim_body_name=sim_name if sim_name != name else None,
    )
    return _shaped(link, body_points(model, body) - shift)


def _shaped(link: Link, points: NDArray[np.float64]) -> Link:
    """The link with capsules that enclose the points (n, 3), and a hull for rendering."""
    if len(points) == 0 or np.ptp(points, axis=0).max() < _SPECK_M:
        return link
    points = np.unique(np.round(points, 7), axis=0)
    with contextlib.suppress(QhullError, ValueError):  # a flat shape keeps every point
        points = points[ConvexHull(points).vertices]
    capsules = tuple(
        LinkCapsule(
            p0=vec3(capsule.p0, 4),
            p1=vec3(capsule.p1, 4),
            # Rounding moves the ends by up to half the grid's diagonal; the radius compensates.
            radius=round(math.ceil(capsule.radius / _GRID + math.sqrt(3) / 2) * _GRID, 4),
        )
        for capsule in fit_capsules(points)
    )
    hull = tuple(vec3(point, 4) for point in reduce_hull(points))
    return link.model_copy(update={"capsules": capsules, "hull": hull})
