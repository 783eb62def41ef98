"""`openral sim`: run skills in simulated scenes, without a graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openral.cli.ros.yaml_fields import parse_pairs

if TYPE_CHECKING:
    from openral.skill.evaluation.evaluation import Evaluation

app = typer.Typer(no_args_is_help=True, help="Run skills in simulated scenes.")


@app.callback()
def _sim() -> None:
    """Run skills in simulated scenes."""


@app.command()
def run(
    config: Annotated[str, typer.Option(help="Scene: a shipped one's id, or a file.")],
    robot: Annotated[
        str | None, typer.Option(help="Robot: id or file; the scene's own by default.")
    ] = None,
    skill: Annotated[str, typer.Option(help="Skill, such as hold or scripted-push.")] = "hold",
    episodes: Annotated[
        int | None, typer.Option(min=1, help="How many; the scene's own number by default.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the first episode.")] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes to run on.")] = 1,
    video: Annotated[Path | None, typer.Option(help="GIF or MP4 to write.")] = None,
    camera: Annotated[str | None, typer.Option(help="Camera of the video.")] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--param", help="KEY=VALUE for the skill; repeatable.")
    ] = None,
    min_success: Annotated[
        float, typer.Option(min=0, max=1, help="Exit code 1 below this success rate.")
    ] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run episodes of a skill in a scene and report the success rate.

    Example: openral sim run --config tabletop_push --robot ur5e --skill scripted-push
    """
    from rich.console import Console
    from rich.progress import Progress

    from openral.manifest import load_scene
    from openral.skill.evaluation.evaluation import Order, evaluate
    from openral.skill.evaluation.video import Video

    order = Order(config, skill, robot, parse_pairs("--param", parameter))
    task = load_scene(config).task
    total = episodes or (task.episodes if task else 1)
    film = Video(video, camera) if video is not None else None
    with Progress(console=Console(stderr=True), transient=True, disable=as_json) as bar:
        job = bar.add_task("episodes", total=total)
        result = evaluate(
            order, episodes, seed, workers, film, lambda _: bar.update(job, advance=1)
        )
    if film is not None:
        film.save()
    if as_json:
        print(json.dumps(result.as_dict(), indent=2))
    else:
        _print(result)
        if film is not None:
            print(f"wrote {film.path}")
    if result.success_rate < min_success:
        raise typer.Exit(1)


def _print(result: Evaluation) -> None:
    from rich.console import Console
    from rich.table import Table

    title = f"{result.order.skill} · {result.robot} · {result.order.scene}"
    table = Table("episode", "seed", "", "steps", "reward", "s", "failure", title=title)
    for e in result.episodes:
        mark = "[green]✓[/]" if e.success else "[red]✗[/]"
        cells = (e.episode, e.seed, mark, e.steps, f"{e.reward:.2f}", f"{e.wall_s:.2f}")
        table.add_row(*map(str, cells), e.failure or ("" if e.success else "out of steps"))
    low, high = result.interval
    won = sum(e.success for e in result.episodes)
    Console().print(table)
    print(
        f"success {won}/{len(result.episodes)} = {100 * result.success_rate:.0f}% "
        f"(95% confidence {100 * low:.0f}% to {100 * high:.0f}%)"
    )
