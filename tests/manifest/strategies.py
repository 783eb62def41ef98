"""Random valid robot manifests."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from openral.manifest import ControlMode, RobotDescription
from openral.manifest.base import Transform
from openral.manifest.joint import Dynamics, Joint, JointLimits, JointType, Mimic
from openral.manifest.link import Link, LinkBox, LinkCapsule
from openral.manifest.parts import EndEffector
from openral.manifest.robot import RobotKind
from openral.manifest.sensor import Camera, DepthCamera, Intrinsics, Lidar, Mount

lengths = st.floats(-1, 1, allow_subnormal=False)
vectors = st.tuples(lengths, lengths, lengths)
poses = st.builds(Transform, xyz=vectors, rpy=vectors)
capsules = st.builds(LinkCapsule, p0=vectors, p1=vectors, radius=st.floats(0.01, 0.2))
boxes = st.builds(LinkBox, xyz=vectors, half=st.tuples(*[st.floats(0.01, 0.2)] * 3), rpy=vectors)
axes = st.sampled_from([(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.0, 0.8)])


def links(name: str) -> st.SearchStrategy[Link]:
    return st.builds(
        Link,
        name=st.just(name),
        mass=st.floats(0.1, 10),
        com=st.none() | vectors,
        capsules=st.lists(capsules, max_size=2).map(tuple),
        boxes=st.lists(boxes, max_size=1).map(tuple),
        hull=st.lists(vectors, max_size=6).map(tuple),
        sim_body_name=st.none() | st.just(f"body/{name}"),
    )


@st.composite
def limits(draw: st.DrawFn, kind: JointType) -> JointLimits:
    position = None
    if kind is not JointType.CONTINUOUS:
        low = draw(st.floats(-math.pi, 1))
        position = (low, low + draw(st.floats(0.05, 2)))
    return JointLimits(
        position=position,
        velocity=draw(st.floats(0.1, 10)),
        effort=draw(st.floats(0.1, 100)),
        acceleration=draw(st.none() | st.floats(0.1, 50)),
    )


@st.composite
def joints(draw: st.DrawFn, index: int, leaders: list[Joint]) -> Joint:
    kind = draw(st.sampled_from(JointType))
    mimic = None
    if leaders and kind is not JointType.FIXED and draw(st.booleans()):
        leader = draw(st.sampled_from(leaders)).name
        mimic = Mimic(joint=leader, multiplier=draw(st.floats(0.1, 2)), offset=draw(lengths))
    bounded = kind is not JointType.FIXED and mimic is None
    return Joint(
        name=f"joint{index}",
        type=kind,
        parent=f"link{draw(st.integers(0, index))}",
        child=f"link{index + 1}",
        origin=draw(poses),
        axis=draw(axes),
        limits=draw(limits(kind)) if bounded else None,
        mimic=mimic,
        dynamics=Dynamics(damping=draw(st.floats(0, 5)), armature=draw(st.floats(0, 1))),
        sim_joint_name=draw(st.none() | st.just(f"sim/joint{index}")),
    )


def sensors(link_names: list[str]) -> st.SearchStrategy[list[Camera | DepthCamera | Lidar]]:
    mounts = st.builds(Mount, link=st.sampled_from(link_names), xyz=vectors, rpy=vectors)
    lens = st.builds(
        Intrinsics, fx=st.floats(50, 900), fy=st.floats(50, 900), cx=lengths, cy=lengths
    )
    rates = st.floats(1, 60)
    camera = st.builds(
        Camera, name=st.just("eye"), modality=st.just("rgb"), mount=mounts, rate_hz=rates,
        fovy_deg=st.floats(10, 120), vla_feature_key=st.just("observation.images.camera1"),
    )  # fmt: skip
    depth = st.builds(
        DepthCamera, name=st.just("depth"), modality=st.just("depth"), mount=mounts, intrinsics=lens
    )
    lidar = st.builds(
        Lidar, name=st.just("scan"), modality=st.just("lidar_2d"), mount=mounts,
        beams=st.integers(2, 720), range_m=st.just((0.1, 10.0)),
    )  # fmt: skip
    return st.tuples(*(st.lists(one, max_size=1) for one in (camera, depth, lidar))).map(
        lambda parts: [sensor for part in parts for sensor in part]
    )


@st.composite
def robots(draw: st.DrawFn) -> RobotDescription:
    """A valid robot: a random tree of one to six joints."""
    count = draw(st.integers(1, 6))
    chain: list[Joint] = []
    for index in range(count):
        chain.append(draw(joints(index, [joint for joint in chain if joint.actuated])))
    names = [f"link{i}" for i in range(count + 1)]
    home = {}
    for joint in chain:
        if joint.actuated:
            low, high = joint.position_range
            home[joint.name] = draw(st.floats(max(low, -3), min(high, 3)))
    return RobotDescription(
        id="random_robot",
        name=draw(st.sampled_from(["Random robot", "Röböt: #1", "yes", "1.5"])),
        kind=draw(st.sampled_from([RobotKind.ARM, RobotKind.BIMANUAL])),
        base_frame="link0",
        links=tuple(draw(links(name)) for name in names),
        joints=tuple(chain),
        home=home,
        end_effectors=(EndEffector(name="tcp", link=names[-1], tcp=draw(poses)),),
        allowed_collisions=draw(st.sampled_from([(), ((names[0], names[-1]),)])),
        sensors=tuple(draw(sensors(names))),
        control_modes=(ControlMode.JOINT_POSITION, ControlMode.CARTESIAN_DELTA),
    )
