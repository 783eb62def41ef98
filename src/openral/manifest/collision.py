"""Finds the pairs of links that must not collide with each other."""

from __future__ import annotations

from itertools import combinations

from openral.manifest.robot import RobotDescription


def collision_pairs(robot: RobotDescription) -> list[tuple[str, str]]:
    """Pairs of links that must keep apart: all but rigid groups, neighbours and allowed pairs."""
    solid = [link.name for link in robot.links if link.capsules]
    group = {link.name: _rigid_root(robot, link.name) for link in robot.links}
    allowed = {frozenset(pair) for pair in robot.allowed_collisions}
    neighbours = {
        frozenset((group[name], group[neighbour]))
        for name in solid
        if (neighbour := _carrier(robot, name)) is not None
    }
    return [
        (a, b)
        for a, b in combinations(solid, 2)
        if group[a] != group[b]
        and frozenset((group[a], group[b])) not in neighbours
        and frozenset((a, b)) not in allowed
    ]


def _rigid_root(robot: RobotDescription, name: str) -> str:
    """The topmost link that `name` is rigidly connected to."""
    while (joint := robot.parent_joint.get(name)) and not joint.moves:
        name = joint.parent
    return name


def _carrier(robot: RobotDescription, name: str) -> str | None:
    """The link with geometry that carries `name`'s rigid group, skipping frames without any."""
    while joint := robot.parent_joint.get(_rigid_root(robot, name)):
        name = joint.parent
        if robot.link(name).capsules or robot.link(_rigid_root(robot, name)).capsules:
            return name
    return None
