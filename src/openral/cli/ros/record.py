"""`openral record`: record the graph's topics to an MCAP file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from openral.cli.ros.graph_session import (
    DomainOption,
    JsonOption,
    NetworkOption,
    graph_session,
    show,
)

app = typer.Typer(help="Record topics to MCAP in rosbag2's layout.")


@app.command()
def record(
    topics: Annotated[list[str] | None, typer.Argument(help="Topics; none: all.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder to make.")] = None,
    exclude: Annotated[str | None, typer.Option(help="Leave out topics that match this.")] = None,
    duration: Annotated[float, typer.Option(help="End after so many seconds; 0: Ctrl-C.")] = 0.0,
    compression: Annotated[str, typer.Option(help="zstd, lz4 or none.")] = "zstd",
    sim_time: Annotated[bool, typer.Option("--sim-time", help="Stamp with /clock.")] = False,
    as_json: JsonOption = False,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Record topics until Ctrl-C; exit code 1 if nothing was received or the disk is full.

    Example: openral record /joint_states /tf --out run1 --duration 10
    """
    from openral.errors import ConfigError, RecordingError, choices
    from openral.ros.recording.writer import COMPRESSIONS, RecordingWriter

    if compression not in COMPRESSIONS:
        raise ConfigError(f"no compression '{compression}'; {choices(compression, COMPRESSIONS)}")
    folder = out or Path(time.strftime("recording_%Y%m%d_%H%M%S"))
    with graph_session(domain, network) as session:
        writer = RecordingWriter(folder, compression)
        try:
            lost = _run(session, writer, topics or None, exclude, duration, sim_time)
        except RecordingError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(1) from None
    _report(writer, lost, as_json)
    if not writer.count:
        typer.echo("nothing was recorded", err=True)
        raise typer.Exit(1)


def _run(
    session: Any,
    writer: Any,
    topics: list[str] | None,
    exclude: str | None,
    duration: float,
    sim_time: bool,
) -> int:
    """Records until the time is over, a signal or a full disk; returns the messages lost."""
    from openral.ros.node.executor import Executor
    from openral.ros.node.node import Node
    from openral.ros.recording.background import BackgroundWriter
    from openral.ros.recording.recorder import Recorder

    node, now = session.node, None
    executor = Executor(node.context)
    executor.add_node(node)
    if sim_time:
        clock = Node(f"{node.name}_clock", context=node.context, parameters={"use_sim_time": True})
        executor.add_node(clock)
        now = clock.now
    with BackgroundWriter(writer) as sink:
        recorder = Recorder(node, sink, topics, exclude, now)

        def look() -> None:
            recorder.look()
            if sink.error:
                executor.stop()

        node.create_timer(0.25, look)
        if duration:
            node.create_timer(duration, executor.stop)
        typer.echo(f"recording to {writer.folder}; Ctrl-C ends it", err=True)
        executor.spin()
        recorder.close()
        executor.shutdown()
        for topic in recorder.missing:
            typer.echo(f"{topic} never appeared", err=True)
    return sink.lost


def _report(writer: Any, lost: int, as_json: bool) -> None:
    counts = {topic.name: topic.count for topic in writer.topics.values()}
    data = {"folder": str(writer.folder), "messages": writer.count, "lost": lost, "topics": counts}
    show(data, as_json)
