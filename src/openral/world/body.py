"""Body: capsules of the robot and of attached objects, for given joint positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openral.errors import ConfigError, choices
from openral.graph.attached_object import AttachedObject, held_object
from openral.manifest.kinematics import Kinematics
from openral.manifest.robot import RobotDescription

Matrix = NDArray[np.float64]


class Body:
    """All capsules of a robot, including fingers, and of the objects attached to it."""

    def __init__(self, robot: RobotDescription) -> None:
        self._kinematics = Kinematics(robot)
        self._links = self._kinematics.links
        self._base = self._links.index(robot.base_frame)
        self._own = [
            (self._links.index(link.name), np.array([*c.p0, *c.p1, c.radius]))
            for link in robot.links
            for c in link.capsules
        ]
        self.held: dict[str, AttachedObject] = {}
        """Attached objects by id."""

    def hold(self, primitives: Iterable[Any]) -> list[str]:
        """Sets the attached objects to these CollisionPrimitives; returns the ids of new ones."""
        now: dict[str, AttachedObject] = {}
        for primitive in primitives:
            if primitive.attached_link not in self._links:
                link = primitive.attached_link
                raise ConfigError(
                    f"object '{primitive.id}' is attached to no link of the robot; "
                    f"{choices(link, self._links, 'links')}"
                )
            now[primitive.id] = held_object(primitive)
        fresh = [name for name, held in now.items() if self.held.get(name) != held]
        self.held = now
        return fresh

    def link_poses(self, q: ArrayLike) -> dict[str, Matrix]:
        """Poses of all links in the base frame, 4×4 by name, for joint positions `q` (dof,)."""
        poses = self._in_base(q)
        return dict(zip(self._links, poses, strict=True))

    @property
    def shape_links(self) -> list[str]:
        """The link of each of `shapes`; for an attached object the link it is attached to."""
        own = [self._links[link] for link, _ in self._own]
        return own + [held.link for held in self.held.values()]

    def shapes(self, q: ArrayLike, base: Matrix, only: Iterable[str] | None = None) -> Matrix:
        """Capsules (n, 7) for joint positions `q` (dof,): both ends and radius, in m.

        `base` is the pose of the base frame, 4×4. `only`: ids of attached objects, to get these.
        """
        poses = base @ self._in_base(q)
        held = [(self._links.index(h.link), h.row()) for h in self.held.values()]
        parts = self._own + held
        if only is not None:
            wanted = set(only)
            parts = [p for p, name in zip(held, self.held, strict=True) if name in wanted]
        if not parts:
            return np.zeros((0, 7))
        where = poses[[link for link, _ in parts]]
        rows = np.array([row for _, row in parts])
        for ends in (slice(0, 3), slice(3, 6)):
            turned = np.einsum("nij,nj->ni", where[:, :3, :3], rows[:, ends])
            rows[:, ends] = turned + where[:, :3, 3]
        return rows

    def parts(self, q: ArrayLike, base: Matrix) -> tuple[Matrix, Matrix]:
        """`shapes` in two parts: the robot's own capsules, and those of attached objects."""
        rows = self.shapes(q, base)
        return rows[: len(self._own)], rows[len(self._own) :]

    def _in_base(self, q: ArrayLike) -> Matrix:
        poses = self._kinematics.poses(q)
        return np.asarray(np.linalg.inv(poses[self._base]) @ poses, float)
