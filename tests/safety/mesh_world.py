"""MuJoCo on the meshes of a robot's links: a judge of configurations that shares nothing with the
kernel but the manifest's chain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from openral.manifest.collision import collision_pairs
from openral.manifest.robot import RobotDescription
from openral.safety import Box, Capsule, Obstacle, Sphere
from openral.safety.robot_model import grasping_links

Array = NDArray[np.float64]
AWAY = 50.0  # where obstacles wait that a scene does not use
SHAPES = ("speck", "ball", "box", "bar")
SLACK_M = 2e-4  # of MuJoCo's distances between convex bodies


def link_points(
    robot: RobotDescription, menagerie: Path | None, hulls: Path | None
) -> tuple[dict[str, list[Array]], str]:
    """Corner points of convex pieces of each link in its own frame, and where they are from."""
    uri = robot.sim.mjcf_uri if robot.sim.mjcf_uri != "twin:" else robot.sim.reference_uri
    if menagerie is not None and uri is not None and uri.startswith("menagerie:"):
        path = menagerie / (uri.removeprefix("menagerie:") + ".xml")
        if path.exists():
            return _published(robot, path), "menagerie"
    folder = hulls / f"{robot.id}_hulls.npz" if hulls is not None else None
    if folder is not None and folder.exists():
        with np.load(folder) as found:
            names = {link.name: link.sim_body_name or link.name for link in robot.links}
            return {
                link: [np.asarray(found[name], float)]
                for link, name in names.items()
                if name in found.files
            }, "hulls"
    return {link.name: [np.array(link.hull)] for link in robot.links if link.hull}, "manifest"


def _published(robot: RobotDescription, path: Path) -> dict[str, list[Array]]:
    model = mujoco.MjModel.from_xml_path(str(path))
    names = {link.sim_body_name or link.name: link.name for link in robot.links}
    out: dict[str, list[Array]] = {}
    for geom in range(model.ngeom):
        mesh = int(model.geom_dataid[geom])
        link = names.get(model.body(int(model.geom_bodyid[geom])).name)
        if link is None or mesh < 0 or model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH:
            continue
        first = int(model.mesh_vertadr[mesh])
        points = model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])]
        w, x, y, z = model.geom_quat[geom]
        turn = Rotation.from_quat([x, y, z, w])
        out.setdefault(link, []).append(turn.apply(points) + model.geom_pos[geom])
    return out


def _numbers(values: Sequence[float] | Array) -> str:
    return " ".join(f"{float(v):.9g}" for v in values)


def _corners(points: Array) -> Array:
    """The points that matter to a convex hull."""
    if len(points) < 5 or np.ptp(points, axis=0).min() < 1e-4:
        return points
    return points[ConvexHull(points).vertices]


class MeshWorld:
    """One robot made of meshes, and four obstacles that can be put anywhere."""

    def __init__(
        self, robot: RobotDescription, menagerie: Path | None = None, hulls: Path | None = None
    ) -> None:
        self.robot = robot
        self.points, self.source = link_points(robot, menagerie, hulls)
        self._assets: list[str] = []
        self._geoms: dict[str, list[str]] = {}
        body = self._body(robot.root)
        margin, own = robot.safety.margin_m, robot.safety.self_margin_m
        things = "".join(
            f'<body name="{name}" mocap="true" pos="{AWAY} {AWAY} {i}"><geom name="{name}" '
            f'{shape} contype="1" conaffinity="0" margin="{margin}"/></body>'
            for i, (name, shape) in enumerate(
                zip(
                    SHAPES,
                    (
                        'type="sphere" size="0.002"',
                        'type="sphere" size="0.03"',
                        'type="box" size="0.01 0.05 0.1"',
                        'type="capsule" size="0.015 0.15"',
                    ),
                    strict=True,
                )
            )
        )
        pairs = "".join(
            f'<pair geom1={quoteattr(a)} geom2={quoteattr(b)} margin="{own}"/>'
            for one, two in collision_pairs(robot)
            for a in self._geoms.get(one, [])
            for b in self._geoms.get(two, [])
        )
        xml = (
            '<mujoco><compiler angle="radian"/><option gravity="0 0 0" ccd_iterations="100"/>'
            f"<asset>{''.join(self._assets)}</asset><worldbody>{things}{body}</worldbody>"
            f"<contact>{pairs}</contact></mujoco>"
        )
        self.model = mujoco.MjModel.from_xml_string(xml)
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)
        self._address, self._drivers = self._columns()
        self._margins = (margin, own)
        self._things = {self.model.geom(name).id for name in SHAPES}

    def _columns(self) -> tuple[Array, list[tuple[int, float, float]]]:
        address, drivers = [], []
        column = {name: i for i, name in enumerate(self.robot.joint_names)}
        for joint in self.robot.joints:
            if not joint.moves:
                continue
            driver = joint.mimic.joint if joint.mimic else joint.name
            factor = joint.mimic.multiplier if joint.mimic else 1.0
            offset = joint.mimic.offset if joint.mimic else 0.0
            address.append(self.model.joint(joint.name).qposadr[0])
            drivers.append((column[driver], factor, offset))
        return np.array(address, int), drivers

    def _moves(self, link: str) -> bool:
        if self.robot.base_joints:
            return True
        while joint := self.robot.parent_joint.get(link):
            if joint.moves:
                return True
            link = joint.parent
        return False

    def _body(self, link: str) -> str:
        out = ""
        fingers = link in grasping_links(self.robot)
        # What has no capsules is nothing to the kernel.
        known = bool(self.robot.link(link).capsules) and not fingers
        for i, points in enumerate(self.points.get(link, []) if known else []):
            name = f"{link}.{i}"
            self._assets.append(
                f'<mesh name={quoteattr(name)} vertex="{_numbers(_corners(points).ravel())}"/>'
            )
            outside = int(self._moves(link))
            out += (
                f'<geom name={quoteattr(name)} type="mesh" mesh={quoteattr(name)} contype="0" '
                f'conaffinity="{outside}"/>'
            )
            self._geoms.setdefault(link, []).append(name)
        for joint in self.robot.joints:
            if joint.parent != link:
                continue
            x, y, z, w = Rotation.from_euler("xyz", joint.origin.rpy).as_quat()
            motion = ""
            if joint.moves:
                kind = "slide" if joint.linear else "hinge"
                motion = (
                    f'<joint name={quoteattr(joint.name)} type="{kind}" '
                    f'axis="{_numbers(joint.axis)}"/>'
                )
            out += (
                f'<body pos="{_numbers(joint.origin.xyz)}" quat="{_numbers((w, x, y, z))}">'
                f'<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{motion}'
                f"{self._body(joint.child)}</body>"
            )
        return out

    def put(self, things: dict[str, tuple[Array, Array]]) -> list[Obstacle]:
        """Places obstacles (position and quaternion x y z w) by shape; returns them."""
        out: list[Obstacle] = []
        for i, name in enumerate(SHAPES):
            at, turn = things.get(
                name, (np.array([AWAY, AWAY, float(i)]), np.array([0, 0, 0, 1.0]))
            )
            self.data.mocap_pos[i] = at
            self.data.mocap_quat[i] = turn[[3, 0, 1, 2]]
            if name not in things:
                continue
            x, y, z = (float(v) for v in at)
            quaternion = (float(turn[0]), float(turn[1]), float(turn[2]), float(turn[3]))
            if name == "speck":
                out.append(Sphere(name, (x, y, z), 0.002))
            elif name == "ball":
                out.append(Sphere(name, (x, y, z), 0.03))
            elif name == "box":
                out.append(Box(name, (x, y, z), (0.01, 0.05, 0.1), quaternion))
            else:
                way = Rotation.from_quat(turn).apply([0.0, 0.0, 0.15])
                one, two = at - way, at + way
                out.append(Capsule(name, tuple(one.tolist()), tuple(two.tolist()), 0.015))
        return out

    def place(self, q: Array) -> None:
        """Puts the robot there; q in the order of its driven joints."""
        qpos = self.data.qpos
        for address, (column, factor, offset) in zip(self._address, self._drivers, strict=True):
            qpos[address] = factor * q[column] + offset
        mujoco.mj_kinematics(self.model, self.data)

    def intrusion(self, q: Array) -> tuple[float, str]:
        """How much closer than its margin the nearest pair of bodies is there, and which."""
        self.place(q)
        mujoco.mj_collision(self.model, self.data)
        count = self.data.ncon
        if count == 0:
            return 0.0, ""
        worst, what = 0.0, ""
        contact = self.data.contact
        for i in range(count):
            one, two = int(contact.geom1[i]), int(contact.geom2[i])
            margin = self._margins[0 if one in self._things or two in self._things else 1]
            depth = margin - float(contact.dist[i])
            if depth > max(worst, SLACK_M):
                depth = margin - self._distance(one, two, margin)
                if depth > max(worst, SLACK_M):
                    worst = depth
                    what = f"{self.model.geom(one).name} - {self.model.geom(two).name}"
        return worst, what

    def _distance(self, one: int, two: int, margin: float) -> float:
        """Asked again by another function, before anything is called wrong."""
        return float(
            mujoco.mj_geomDistance(self.model, self.data, one, two, margin + 0.01, np.zeros(6))
        )

    def surface(self, q: Array, rng: np.random.Generator) -> tuple[Array, Array] | None:
        """A corner of a moving link's mesh there, and the direction out of it."""
        self.place(q)
        links = [link for link in self._geoms if self._moves(link)]
        if not links:
            return None
        link = links[int(rng.integers(len(links)))]
        pieces = self._geoms[link]
        piece = int(rng.integers(len(pieces)))
        geom = self.model.geom(pieces[piece]).id
        mesh = int(self.model.geom_dataid[geom])
        first, count = int(self.model.mesh_vertadr[mesh]), int(self.model.mesh_vertnum[mesh])
        local = self.model.mesh_vert[first + int(rng.integers(count))]
        turn = self.data.geom_xmat[geom].reshape(3, 3)
        centre = self.data.geom_xpos[geom]
        at = turn @ local + centre
        out = at - centre
        return at, out / max(float(np.linalg.norm(out)), 1e-9)
