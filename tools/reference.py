"""Writes docs/reference.md, the tables that are made from the code; a test keeps them true.

Example: python tools/reference.py
"""

from __future__ import annotations

from pathlib import Path

from openral.cli import COMMANDS
from openral.manifest import RobotDescription, load_robot, shipped_robots

PAGE = Path(__file__).parent.parent / "docs" / "reference.md"


def table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def robot_row(robot: RobotDescription) -> tuple[object, ...]:
    mass = sum(link.mass for link in robot.links)
    sensors = ", ".join(sensor.name for sensor in robot.sensors)
    real = robot.hal.real or "–"
    return f"`{robot.id}`", robot.name, len(robot.driven), f"{mass:.1f} kg", sensors, real


def page() -> str:
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
            ]
        )
        + "\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
