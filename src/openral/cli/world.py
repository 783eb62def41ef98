"""`openral world`: render the world snapshot, i.e. map, robot and last verdict."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openral.cli.ros.graph_session import (
    DomainOption,
    JsonOption,
    NetworkOption,
    NotThere,
    Session,
    call_service,
    graph_session,
    show,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openral.world.world_snapshot import WorldSnapshot

app = typer.Typer(no_args_is_help=True, help="See what the robot believes is around it.")


@app.callback()
def _world() -> None:
    """See what the robot believes is around it."""


@app.command()
def view(
    out: Annotated[Path, typer.Option("--out", help="The picture to write.")] = Path("world.png"),
    robot: Annotated[
        str | None, typer.Option("--robot", help="Id or robot.yaml; else the world node's.")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="A table that is kept up to date.")] = False,
    as_json: JsonOption = False,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds to wait.")] = 5.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Render the voxels, the robot's capsules and the kernel's last verdict.

    Exit code 0: done; 1: no map or no robot state was received in time.

    Example: openral world view --out world.png
    """
    with graph_session(domain, network) as session, _belief(session, robot, timeout) as belief:
        if live:
            _table(belief)
            return
        if as_json:
            show(belief.data(), True)
            return
        from openral.world.world_render import world_picture

        picture = world_picture(
            belief.grid,
            belief.shapes(),
            belief.base,
            belief.lines(),
            hit_point=belief.hit_point(),
            hit_shapes=belief.hit_shapes(),
        )
        picture.save(out)
        typer.echo(f"{out}: {belief.lines()[0]}")


@contextmanager
def _belief(session: Session, robot: str | None, timeout: float) -> Iterator[WorldSnapshot]:
    from openral.manifest.library import load_robot
    from openral.ros.node.executor import Executor
    from openral.world.world_snapshot import WorldSnapshot

    executor = Executor(session.node.context)
    executor.add_node(session.node)
    executor.start()
    try:
        belief = WorldSnapshot(session.node, load_robot(robot or _robot_of(session, timeout)))
        give_up = time.monotonic() + timeout
        while not belief.complete:
            if time.monotonic() > give_up:
                raise NotThere(f"nothing heard on {', '.join(belief.missing())} in {timeout:g} s")
            time.sleep(0.02)
        time.sleep(0.3)  # for the kernel's state, and a verdict if motion is being checked
        yield belief
    finally:
        executor.shutdown()


def _robot_of(session: Session, timeout: float) -> str:
    session.find_service("/world/get_parameters", timeout)
    kind = "rcl_interfaces/srv/GetParameters"
    names = ["robot_yaml"]
    answer = call_service(session, kind, "/world/get_parameters", timeout, names=names)
    return str(answer.values[0].string_value)


def _table(belief: WorldSnapshot) -> None:
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    def table() -> Table:
        out = Table("what", "now")
        data = belief.data()
        for name in ("healthy", "age_s", "occupied", "unknown", "base", "verdict", "hit"):
            out.add_row(name, Text(str(data[name])))
        for sensor in data["sensors"]:
            text = f"{sensor['state']}, {sensor['rate_hz']:g} Hz {sensor['detail']}"
            out.add_row(sensor["name"], Text(text))
        return out

    try:
        with Live(table(), refresh_per_second=4) as screen:
            while True:
                time.sleep(0.25)
                screen.update(table())
    except KeyboardInterrupt:
        return
