"""Makes a twin: the MuJoCo model of a robot, from its manifest alone."""

from __future__ import annotations

import mujoco
import numpy as np

from openral.manifest import RobotDescription, collision_pairs
from openral.manifest.base import Transform, Vec3
from openral.manifest.joint import Drive, Joint, JointType
from openral.manifest.kinematics import joints_from_root
from openral.manifest.link import Link
from openral.sim.twin.sensor_mounts import add_sensors, body_name, quaternion

TIMESTEP_S = 0.002

# Geometry groups: MuJoCo renders 0 to 2 by default.
VISUAL_GROUP, COLLISION_GROUP = 2, 3

_COLOURS = ((0.93, 0.93, 0.94, 1.0), (0.27, 0.47, 0.74, 1.0))
_CAPSULE_COLOUR = (0.2, 0.75, 0.35, 0.3)

# A servo without stated gains is critically damped with this bandwidth.
_BANDWIDTH_RAD_S = 30.0
# Fraction of the damping that stops a joint within one step; at 2 it oscillates forever.
_DAMPING_SHARE = 1.5
_MIMIC_SOLREF = (0.004, 1.0)


def make_twin(robot: RobotDescription, base: str | None = None) -> mujoco.MjSpec:
    """The robot as an MjSpec: chain, masses, capsules, servos, cameras and a `home` keyframe.

    `base` is "fixed" or "floating" and overrides the manifest. Names are those that the manifest
    gives for simulation, so a twin and a published model of the same robot are interchangeable.
    """
    floating = (base or robot.sim.base) == "floating"
    stated = {joint.name: joint.drive for joint in robot.driven if joint.drive is not None}
    model = _build(robot, stated, floating=False).compile()
    missing = [joint for joint in robot.driven if joint.name not in stated]
    drives = stated | _tuned(robot, missing, model)
    return _build(robot, _realisable(robot, drives, model), floating)


def joint_name(joint: Joint) -> str:
    """The joint's name in simulation."""
    return joint.sim_joint_name or joint.name


def _build(robot: RobotDescription, drives: dict[str, Drive], floating: bool) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.modelname = robot.id
    spec.compiler.degree = False
    spec.compiler.autolimits = True
    spec.option.timestep = TIMESTEP_S
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    bodies = _add_bodies(spec, robot, floating)
    for index, link in enumerate(robot.links):
        if link.name in bodies:
            body = bodies[link.name]
            _add_geometry(spec, body, link, _COLOURS[index % 2])
            _set_inertia(body, link)
            body.gravcomp = 0.0 if floating else 1.0
    _add_servos(spec, robot, drives)
    _add_mimics(spec, robot)
    _add_excludes(spec, robot)
    add_sensors(spec, robot)
    _add_home(spec, robot, floating)
    return spec


def _add_bodies(
    spec: mujoco.MjSpec, robot: RobotDescription, floating: bool
) -> dict[str, mujoco.MjsBody]:
    root = robot.link(robot.root)
    body = spec.worldbody.add_body(name=body_name(root), **_pose(robot.sim.base_pose))
    if floating:
        body.add_freejoint(name="floating_base")
    bodies = {root.name: body}
    waiting: dict[str, list[Joint]] = {}  # joints of massless frames, by the frame's name
    for joint in joints_from_root(robot):
        chain = [*waiting.pop(joint.parent, []), joint]
        link = robot.link(joint.child)
        if joint.moves and link.mass == 0:
            waiting[link.name] = chain
            continue
        first = chain[0]
        body = bodies[first.parent].add_body(name=body_name(link), **_pose(first.origin))
        for part in chain:
            if part.moves:
                _add_joint(robot, body, part)
        bodies[link.name] = body
    return bodies


def _pose(pose: Transform) -> dict[str, object]:
    return {"pos": list(pose.xyz), "quat": quaternion(pose.rpy)}


def _add_joint(robot: RobotDescription, body: mujoco.MjsBody, joint: Joint) -> None:
    kind = mujoco.mjtJoint.mjJNT_SLIDE if joint.linear else mujoco.mjtJoint.mjJNT_HINGE
    added = body.add_joint(name=joint_name(joint), type=kind, axis=list(joint.axis))
    added.armature = joint.dynamics.armature
    added.frictionloss = joint.dynamics.friction
    # Newer MuJoCo has a polynomial in the velocity; only its linear term is the joint's damping.
    damping = np.zeros(np.shape(added.damping))
    damping.flat[0] = joint.dynamics.damping
    added.damping = damping
    limits = joint.limits
    if joint.mimic is not None and limits is None:
        low, high = robot.joint(joint.mimic.joint).position_range
        ends = [joint.mimic.multiplier * v + joint.mimic.offset for v in (low, high)]
        low, high = min(ends), max(ends)
    else:
        low, high = joint.position_range
    if np.isfinite([low, high]).all():
        added.range = [low, high]


def _add_geometry(spec: mujoco.MjSpec, body: mujoco.MjsBody, link: Link, colour: object) -> None:
    capsules_visible = not _has_volume(link.hull)
    for index, capsule in enumerate(link.capsules):
        collides = 0 if link.boxes else 1
        sphere = np.allclose(capsule.p0, capsule.p1, atol=1e-9)
        shape = (
            {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "pos": list(capsule.p0)}
            if sphere
            else {
                "type": mujoco.mjtGeom.mjGEOM_CAPSULE,
                "fromto": [*capsule.p0, *capsule.p1],
            }
        )
        body.add_geom(
            name=f"{body.name}_capsule{index}",
            size=[capsule.radius, 0, 0],
            group=VISUAL_GROUP if capsules_visible and not link.boxes else COLLISION_GROUP,
            rgba=colour if capsules_visible and not link.boxes else _CAPSULE_COLOUR,
            contype=collides,
            conaffinity=collides,
            **shape,
        )
    for index, box in enumerate(link.boxes):
        body.add_geom(
            name=f"{body.name}_box{index}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=list(box.xyz),
            quat=quaternion(box.rpy),
            size=list(box.half),
            group=VISUAL_GROUP if capsules_visible else COLLISION_GROUP,
            rgba=colour,
            friction=[1.5, 0.01, 0.001],
            condim=4,
        )
    if not capsules_visible:
        name = f"{body.name}_hull"
        spec.add_mesh(name=name, uservert=np.asarray(link.hull, float).ravel())
        body.add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=name,
            group=VISUAL_GROUP,
            rgba=colour,
            contype=0,
            conaffinity=0,
            mass=0,
        )


def _has_volume(points: tuple[Vec3, ...]) -> bool:
    """Whether points span a volume that can be rendered, rather than a flat or tiny one."""
    if len(points) < 4:
        return False
    spread = np.linalg.svd(np.asarray(points) - np.mean(points, axis=0), compute_uv=False)
    return bool(spread[-1] > 1e-4)


def _set_inertia(body: mujoco.MjsBody, link: Link) -> None:
    if link.inertia is not None:
        body.explicitinertial = True
        body.mass = link.mass
        body.ipos = list(link.com or (0.0, 0.0, 0.0))
        body.fullinertia = list(link.inertia)
        return
    solids = [geom for geom in body.geoms if geom.type != mujoco.mjtGeom.mjGEOM_MESH]
    if solids:
        for geom in solids:
            geom.mass = link.mass / len(solids)
    elif link.mass > 0:
        body.explicitinertial = True
        body.mass = link.mass
        body.ipos = list(link.com or (0.0, 0.0, 0.0))
        body.inertia = [0.4 * link.mass * 0.03**2] * 3  # a solid ball of radius 3 cm


def _add_servos(spec: mujoco.MjSpec, robot: RobotDescription, drives: dict[str, Drive]) -> None:
    for joint in robot.driven:
        name = joint_name(joint)
        servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        drive = drives.get(joint.name, Drive(kp=1.0, kd=0.0))
        servo.set_to_position(kp=drive.kp, kv=drive.kd)
        assert joint.limits is not None
        servo.forcerange = [-joint.limits.effort, joint.limits.effort]
        if joint.type is not JointType.CONTINUOUS:
            servo.ctrlrange = list(joint.position_range)


def _add_mimics(spec: mujoco.MjSpec, robot: RobotDescription) -> None:
    for joint in robot.joints:
        if joint.mimic is None:
            continue
        tie = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT)
        tie.name1, tie.name2 = joint_name(joint), joint_name(robot.joint(joint.mimic.joint))
        data = np.zeros(len(tie.data))
        data[:2] = joint.mimic.offset, joint.mimic.multiplier
        tie.data = data
        tie.solref = list(_MIMIC_SOLREF)


def _add_excludes(spec: mujoco.MjSpec, robot: RobotDescription) -> None:
    """Only pairs of links that the safety kernel checks can collide in the twin."""
    checked = {frozenset(pair) for pair in collision_pairs(robot)}
    solid = [link for link in robot.links if link.solid]
    for index, a in enumerate(solid):
        for b in solid[index + 1 :]:
            if frozenset((a.name, b.name)) not in checked:
                spec.add_exclude(bodyname1=body_name(a), bodyname2=body_name(b))


def _add_home(spec: mujoco.MjSpec, robot: RobotDescription, floating: bool) -> None:
    qpos: list[float] = []
    if floating:
        pose = robot.sim.base_pose
        qpos += [*pose.xyz, *quaternion(pose.rpy)]
    for joint in joints_from_root(robot):
        if joint.mimic is not None:
            value = robot.home[joint.mimic.joint]
            qpos.append(joint.mimic.multiplier * value + joint.mimic.offset)
        elif joint.moves:
            qpos.append(robot.home[joint.name])
    spec.add_key(name="home", qpos=qpos, ctrl=robot.home_position)


def _realisable(
    robot: RobotDescription, drives: dict[str, Drive], model: mujoco.MjModel
) -> dict[str, Drive]:
    """The drives with damping limited to what a time step can resolve.

    A servo at its force limit that reverses a joint's velocity in one step never comes to rest.
    """
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    inverse = np.zeros((model.nv, model.nv))
    mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))
    capped = {}
    for joint in robot.driven:
        dof = model.joint(joint_name(joint)).dofadr[0]
        most = _DAMPING_SHARE / (float(inverse[dof, dof]) * TIMESTEP_S)
        drive = drives[joint.name]
        capped[joint.name] = drive.model_copy(update={"kd": min(drive.kd, most)})
    return capped


def _tuned(robot: RobotDescription, joints: list[Joint], model: mujoco.MjModel) -> dict[str, Drive]:
    """Gains for joints that state none, from the effective inertia of each at home."""
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    drives = {}
    for joint in joints:
        unit, felt = np.zeros(model.nv), np.zeros(model.nv)
        dof = model.joint(joint_name(joint)).dofadr[0]
        unit[dof] = 1.0
        mujoco.mj_mulM(model, data, felt, unit)
        inertia = float(felt[dof])
        drives[joint.name] = Drive(
            kp=inertia * _BANDWIDTH_RAD_S**2, kd=2 * inertia * _BANDWIDTH_RAD_S
        )
    return drives
