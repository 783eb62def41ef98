"""Writes docs/reference.md, the tables that are made from the code; a test keeps them true.

Example: python tools/reference.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from openral.cli import COMMANDS
from openral.deploy.lockstep.graph import LockstepGraph
from openral.deploy.options import DeployOptions
from openral.deploy.plan import make_plan
from openral.graph import time_lease
from openral.manifest import RobotDescription, load_robot, shipped_robots
from openral.ros.node.node import Node
from openral.ros.qos import STATE

# The robot with every kind of sensor, in a scene with a task.
ROBOT, SCENE = "panda_mobile", "kitchen_reach"
OF_EVERY_NODE = ("/rosout", "/parameter_events", "/transition_event", "_action/")
PAGE = Path(__file__).parent.parent / "docs" / "reference.md"


def table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def robot_row(robot: RobotDescription) -> tuple[object, ...]:
    mass = sum(link.mass for link in robot.links)
    sensors = ", ".join(sensor.name for sensor in robot.sensors)
    real = robot.hal.real or "–"
    return f"`{robot.id}`", robot.name, len(robot.driven), f"{mass:.1f} kg", sensors, real


def topic_rows(nodes: Iterable[Node], robot: RobotDescription) -> list[tuple[object, ...]]:
    """What a running graph publishes and hears, one row a topic."""
    rows: dict[str, tuple[Any, Any, set[str], set[str]]] = {}
    for node in nodes:
        for ends, place in ((node._publishers, 2), (node._subscriptions, 3)):
            for end in ends:
                if any(part in end.topic for part in OF_EVERY_NODE):
                    continue
                name = general(end.topic, robot)
                row = rows.setdefault(name, (end.type_name, end.qos, set(), set()))
                row[place].add(node.name)  # type: ignore[union-attr]
                if place == 2:  # what is promised is the publisher's to say
                    rows[name] = (end.type_name, end.qos, row[2], row[3])
    # In lock-step nobody needs to make time wait.
    rows[time_lease.TOPIC] = (time_lease.TYPE, STATE, {"recorder", "skill_runner"}, {"hal"})
    return [
        (f"`{name}`", f"`{kind}`", qos, listed(makers), listed(takers))
        for name, (kind, qos, makers, takers) in sorted(rows.items())
    ]


def service_rows(nodes: Iterable[Node], robot: RobotDescription) -> list[tuple[object, ...]]:
    rows = [
        (f"`{general(service.name, robot)}`", f"`{service.type_name}`", f"`{node.name}`")
        for node in nodes
        for service in node._services
        if not service.name.startswith(f"{node.full_name}/")
    ]
    action = ("`/openral/execute_skill`", "`openral_msgs/action/ExecuteSkill`", "`skill_runner`")
    return sorted([*rows, action])


def general(name: str, robot: RobotDescription) -> str:
    """A name without the robot's own parts."""
    name = re.sub("/(cameras|lidars)/[^/]+/", r"/\1/<sensor>/", name)
    return name.replace(f"/{robot.id}/", "/<robot>/")


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "–"


def graph_tables() -> tuple[str, str]:
    """Topics and services of a graph that is really there, on one thread and without a wire."""
    options = DeployOptions(robot_ref=ROBOT, scene_ref=SCENE, skill="home")
    graph, robot = LockstepGraph(make_plan(options)), load_robot(ROBOT)
    try:
        graph.runner.graph.observer.cameras.open([robot.cameras[0].key])
        nodes = [graph.hal, graph.kernel, graph.world, graph.runner, graph.node]
        head = ("topic", "type", "promise", "published by", "heard by")
        topics = table(head, topic_rows(nodes, robot))
        services = table(("service or action", "type", "served by"), service_rows(nodes, robot))
    finally:
        graph.close()
    return topics, services


def page() -> str:
    topics, services = graph_tables()
    robots = [robot_row(load_robot(name)) for name in shipped_robots()]
    commands = [(f"`openral {name}`", text) for name, (_, text) in COMMANDS.items()]
    return (
        "\n\n".join(
            [
                "# Reference",
                "Made by `tools/reference.py`; do not edit.",
                "## Robots",
                table(("id", "name", "driven joints", "mass", "sensors", "hardware"), robots),
                "## Commands",
                table(("command", "what it does"), commands),
                "## Topics",
                "As `openral deploy sim` has them. A robot publishes what it has sensors for; "
                "skills hear the cameras that they need.",
                topics,
                "## Services and actions",
                services,
            ]
        )
        + "\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
