"""`openral scene`: list, show and draw scenes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="List, show and draw scenes.")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Scene = Annotated[str, typer.Argument(help="A shipped scene's id, or a file.", metavar="SCENE")]


@app.command("list")
def list_scenes(as_json: Json = False) -> None:
    """List the scenes shipped with openral, and the robots that each supports.

    Example: openral scene list
    """
    from openral.sim.scene_catalogue import catalogue

    rows = catalogue()
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("id", "name", "scene", "task", "robots")
    for row in rows:
        robots = row["robots"]
        assert isinstance(robots, list)
        shown = "any of them" if row["any_robot"] else ", ".join(robots)
        table.add_row(*(str(row[k] or "") for k in ("id", "name", "scene", "task")), shown)
    Console().print(table)


@app.command()
def show(scene: Scene, as_json: Json = False) -> None:
    """Show a scene's manifest and, with --json, its options and criteria as schemas.

    Example: openral scene show tabletop_push
    """
    from openral.manifest import dump_yaml, load_scene
    from openral.sim.registry import fixed_robot, scene_type

    description = load_scene(scene)
    kind = scene_type(description.world.scene)
    only = fixed_robot(kind)
    if as_json:
        shown = {
            "scene": description.model_dump(mode="json"),
            "options": kind.options.model_json_schema(),
            "criteria": {n: m.model_json_schema() for n, m in kind.criteria.items()},
            "fixed_robot": only.id if only else None,
        }
        print(json.dumps(shown, indent=2))
        return
    print(dump_yaml(description), end="")
    print(f"\n# {kind.summary}\n# options:")
    for name, field in kind.options.model_fields.items():
        print(f"#   {name}: {field.description} (default: {field.default})")
    print(f"# criteria: {', '.join(kind.criteria)}")


@app.command()
def render(
    scene: Scene,
    robot: Annotated[str | None, typer.Option(help="Robot: id or file.")] = None,
    camera: Annotated[
        list[str] | None, typer.Option(help="Camera; repeatable; all by default.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which episode's start to draw.")] = 0,
    size: Annotated[str, typer.Option(help="Width and height of each picture.")] = "640x480",
    quality: Annotated[bool, typer.Option(help="Shadows and smooth edges.")] = True,
    out: Annotated[Path | None, typer.Option(help="PNG to write.", show_default=False)] = None,
) -> None:
    """Render a scene from its cameras, before anything moves.

    Example: openral scene render tabletop_push --robot ur5e --out push.png
    """
    from openral.cli.robot import _size
    from openral.manifest import load_robot, load_scene
    from openral.sim.robot_render import save_png
    from openral.sim.scene_sheet import scene_sheet

    description = load_scene(scene)
    chosen = load_robot(robot) if robot is not None else None
    picture, name = scene_sheet(description, chosen, camera or [], seed, _size(size), quality)
    path = save_png(picture, out or Path(f"{description.id}_{name}.png"))
    print(f"wrote {path}")
