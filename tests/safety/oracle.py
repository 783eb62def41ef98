"""Judges configurations with MuJoCo: a model of its own, nothing of the kernel's code."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from openral.manifest.collision import collision_pairs
from openral.manifest.joint import JointRole
from openral.manifest.robot import RobotDescription
from openral.safety import Box, Capsule, Obstacle, Sphere, VoxelGrid
from openral.safety.robot_model import grasping_links


def _numbers(values: Sequence[float]) -> str:
    return " ".join(f"{v:.12g}" for v in values)


def _quat(rpy: Sequence[float]) -> str:
    x, y, z, w = Rotation.from_euler("xyz", rpy).as_quat()
    return _numbers((w, x, y, z))


def _capsule(p0: Sequence[float], p1: Sequence[float], radius: float, name: str) -> str:
    if np.allclose(p0, p1):
        return f'<geom name={quoteattr(name)} type="sphere" pos="{_numbers(p0)}" size="{radius}"/>'
    ends = _numbers([*p0, *p1])
    return f'<geom name={quoteattr(name)} type="capsule" fromto="{ends}" size="{radius}"/>'


class Oracle:
    """Distances of one robot to a world and to itself."""

    def __init__(
        self, robot: RobotDescription, obstacles: Sequence[Obstacle], grid: VoxelGrid | None = None
    ) -> None:
        self.robot = robot
        self._checked: dict[str, list[str]] = {}
        root = self._body(robot.root)
        world = [self._obstacle(o, f"o{i}") for i, o in enumerate(obstacles)]
        if grid is not None:
            half = grid.resolution / 2
            for n, cell in enumerate(np.argwhere(grid.cells)):
                centre = np.array(grid.origin) + (cell + 0.5) * grid.resolution
                name = f"v{n}"
                world.append(
                    f'<geom name="{name}" type="box" pos="{_numbers(centre)}" '
                    f'size="{half} {half} {half}"/>'
                )
        xml = (
            '<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>'
            + "".join(world)
            + '<body name="planar">'
            + root
            + "</body></worldbody></mujoco>"
        )
        self.model = mujoco.MjModel.from_xml_string(xml)
        self.data = mujoco.MjData(self.model)
        self._world = [i for i in range(self.model.ngeom) if self.model.geom_bodyid[i] == 0]
        self._ids = {
            link: [self.model.geom(name).id for name in names]
            for link, names in self._checked.items()
        }
        mobile = bool(robot.base_joints)
        self._moving = [
            g for link, ids in self._ids.items() for g in ids if mobile or self._moves(link)
        ]
        self._pairs = [
            (a, b)
            for one, two in collision_pairs(robot)
            for a in self._ids.get(one, [])
            for b in self._ids.get(two, [])
        ]
        self._joints = [self.model.joint(name).qposadr[0] for name in self._driven()]

    def _driven(self) -> list[str]:
        return [j.name for j in self.robot.driven if j.role is not JointRole.BASE]

    def _moves(self, link: str) -> bool:
        while joint := self.robot.parent_joint.get(link):
            if joint.moves:
                return True
            link = joint.parent
        return False

    def _body(self, link: str) -> str:
        out = ""
        names = self._checked.setdefault(link, [])
        fingers = link in grasping_links(self.robot)  # meant to touch things: not checked
        for i, c in enumerate(() if fingers else self.robot.link(link).capsules):
            names.append(f"{link}.{i}")
            out += _capsule(c.p0, c.p1, c.radius, names[-1])
        for joint in self.robot.joints:
            if joint.parent != link:
                continue
            motion = ""
            if joint.moves and joint.role is not JointRole.BASE:
                kind = "slide" if joint.linear else "hinge"
                motion = f'<joint name="{joint.name}" type="{kind}" axis="{_numbers(joint.axis)}"/>'
            out += (
                f'<body pos="{_numbers(joint.origin.xyz)}" quat="{_quat(joint.origin.rpy)}">'
                f'<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{motion}'
                f"{self._body(joint.child)}</body>"
            )
        return out

    @staticmethod
    def _obstacle(o: Obstacle, name: str) -> str:
        if isinstance(o, Sphere):
            return _capsule(o.centre, o.centre, o.radius, name)
        if isinstance(o, Capsule):
            return _capsule(o.p0, o.p1, o.radius, name)
        assert isinstance(o, Box)
        x, y, z, w = o.quaternion
        return (
            f'<geom name="{name}" type="box" pos="{_numbers(o.centre)}" '
            f'quat="{_numbers((w, x, y, z))}" size="{_numbers(o.half)}"/>'
        )

    def place(self, q: Sequence[float], base: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        """Puts the robot there; q is in the order of the driven joints without the base's."""
        body = self.model.body("planar").id
        self.model.body_pos[body] = (base[0], base[1], 0)
        self.model.body_quat[body] = (np.cos(base[2] / 2), 0, 0, np.sin(base[2] / 2))
        self.data.qpos[self._joints] = q
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    def clearance(
        self, q: Sequence[float], base: Sequence[float] = (0.0, 0.0, 0.0), reach: float = 0.3
    ) -> tuple[float, float]:
        """Least distance to the world and between links that must keep apart."""
        self.place(q, base)
        buffer = np.zeros(6)

        def least(pairs: Sequence[tuple[int, int]]) -> float:
            distances = [
                mujoco.mj_geomDistance(self.model, self.data, a, b, reach, buffer) for a, b in pairs
            ]
            return min(distances, default=reach)

        outside = [(g, o) for g in self._moving for o in self._world if self._close(g, o, reach)]
        own = [(a, b) for a, b in self._pairs if self._close(a, b, reach)]
        return least(outside), least(own)

    def _close(self, a: int, b: int, reach: float) -> bool:
        gap = np.linalg.norm(self.data.geom_xpos[a] - self.data.geom_xpos[b])
        return bool(gap <= self.model.geom_rbound[a] + self.model.geom_rbound[b] + reach)
