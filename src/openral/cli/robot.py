"""`openral robot`: list, show, check, draw and import robots."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openral.errors import ConfigError

if TYPE_CHECKING:
    from openral.manifest import RobotDescription
    from openral.sim.robot_check import Report

app = typer.Typer(no_args_is_help=True, help="List, show, check, draw and import robots.")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RobotArgument = Annotated[str, typer.Argument(help="Id, folder or robot.yaml.", metavar="ROBOT")]
Robots = Annotated[
    list[str] | None, typer.Argument(help="Ids, folders or files.", metavar="ROBOT...")
]
All = Annotated[bool, typer.Option("--all", help="All robots that are installed.")]


@app.command("list")
def list_robots(as_json: Json = False) -> None:
    """List the installed robots.

    Example: openral robot list
    """
    from openral.manifest import load_robot, robot_ids

    rows = [_summary(load_robot(robot)) for robot in robot_ids()]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("id", "name", "kind", "joints", "end_effectors", "sensors", "mass_kg")
    for row in rows:
        table.add_row(*(_cell(row[str(column.header)]) for column in table.columns))
    Console().print(table)


@app.command()
def show(robot: RobotArgument, as_json: Json = False) -> None:
    """Show a robot's manifest; with --json, including defaults.

    Example: openral robot show franka_panda
    """
    from openral.manifest import dump_yaml, load_robot

    description = load_robot(robot)
    print(description.model_dump_json(indent=2) if as_json else dump_yaml(description), end="")


@app.command()
def check(robots: Robots = None, every: All = False, as_json: Json = False) -> None:
    """Check that manifests agree with their twins and published models.

    Exit code 1 if one does not. Example: openral robot check franka_panda
    """
    from rich.progress import track

    from openral.sim.robot_check import check_robot

    names = _chosen(robots, every)
    reports = [
        check_robot(name)
        for name in track(names, "checking", transient=True, disable=as_json or len(names) < 2)
    ]
    if as_json:
        ok = all(report.ok for report in reports)
        print(json.dumps({"ok": ok, "robots": [r.as_dict() for r in reports]}, indent=2))
    else:
        for report in reports:
            _print_report(report)
    if not all(report.ok for report in reports):
        raise typer.Exit(1)


@app.command()
def render(
    robots: Robots = None,
    every: All = False,
    out: Annotated[Path | None, typer.Option(help="PNG to write.", show_default=False)] = None,
    capsules: Annotated[bool, typer.Option(help="Draw the kernel's capsules too.")] = False,
    size: Annotated[str, typer.Option(help="Width and height in pixels.")] = "640x480",
) -> None:
    """Render a robot in its home pose, or several on one contact sheet.

    Example: openral robot render franka_panda --capsules --out panda.png
    """
    from openral.manifest import load_robot
    from openral.sim.robot_render import contact_sheet, render_robot, save_png

    descriptions = [load_robot(name) for name in _chosen(robots, every)]
    if len(descriptions) == 1:
        width, height = _size(size)
        picture = render_robot(descriptions[0], width, height, capsules)
    else:
        picture = contact_sheet(descriptions)
    default = f"{descriptions[0].id}.png" if len(descriptions) == 1 else "robots.png"
    print(f"wrote {save_png(picture, out or Path(default))}")


@app.command("import")
def import_robot(
    model: Annotated[Path, typer.Argument(help="MJCF or URDF file.", metavar="MODEL")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the robot's folder.", show_default=False)
    ] = None,
    name: Annotated[
        str | None, typer.Option("--id", help="The robot's id; the file's name by default.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Overwrite a manifest that is there.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that it may take.")] = 600.0,
) -> None:
    """Make a manifest from an MJCF or URDF model.

    Example: openral robot import my_arm.urdf && openral robot check my_arm
    """
    from openral.manifest import dump_yaml, user_robots
    from openral.sim.importing.process import import_apart

    imported = import_apart(model, name, timeout)
    path = (out or user_robots()) / imported.robot.id / "robot.yaml"
    if path.exists() and not force:
        raise ConfigError(f"{path} exists; --force overwrites it, --id gives another name")
    path.parent.mkdir(parents=True, exist_ok=True)
    notes = "".join(f"# review: {note}\n" for note in imported.notes)
    path.write_text(notes + dump_yaml(imported.robot), encoding="utf-8")
    for note in imported.notes:
        print(f"review: {note}")
    print(f"wrote {path}")


def _summary(robot: RobotDescription) -> dict[str, object]:
    return {
        "id": robot.id,
        "name": robot.name,
        "kind": str(robot.kind),
        "joints": len(robot.driven),
        "end_effectors": [effector.name for effector in robot.end_effectors],
        "sensors": [sensor.name for sensor in robot.sensors],
        "control_modes": [str(mode) for mode in robot.control_modes],
        "mass_kg": round(sum(link.mass for link in robot.links), 2),
    }


def _cell(value: object) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _chosen(robots: list[str] | None, every: bool) -> list[str]:
    from openral.manifest import robot_ids

    if bool(robots) == every:
        raise ConfigError(f"name robots or give --all; robots: {', '.join(robot_ids())}")
    return robots or robot_ids()


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdigit() and height.isdigit() and int(width) >= 16 and int(height) >= 16):
        raise ConfigError(f"--size '{text}' is not WIDTHxHEIGHT with at least 16 pixels each")
    if max(int(width), int(height)) > 4096:
        raise ConfigError(f"--size '{text}' is beyond 4096 pixels")
    return int(width), int(height)


def _print_report(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("", "check", "finding", title=report.robot, title_justify="left")
    for finding in report.findings:
        mark = "[green]✓[/]" if finding.ok else "[red]✗[/]"
        table.add_row(mark, finding.check, finding.detail)
    Console().print(table)
