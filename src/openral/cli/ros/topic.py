"""`openral topic`: list, inspect, print, measure and publish topics."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openral.cli.ros.bag_topics import BagOption, messages_of, rate_of, topics_of
from openral.cli.ros.graph_session import (
    DomainOption,
    JsonOption,
    NetworkOption,
    NotThere,
    Session,
    WaitOption,
    graph_session,
    show,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from openral.ros.rate_meter import RateReport

app = typer.Typer(no_args_is_help=True, help="Topics of the graph.")

TopicArgument = Annotated[str, typer.Argument(help="The topic.")]
_SHOWN_ITEMS = 16


@app.command("list")
def list_topics(
    types: Annotated[bool, typer.Option("--types", "-t", help="Show types.")] = False,
    bag: BagOption = None,
    as_json: JsonOption = False,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """List the topics of the graph or of a recording.

    Example: openral topic list -t
    """
    if bag is not None:
        found = topics_of(bag)
    else:
        with graph_session(domain, network) as session:
            session.graph.settle()
            found = {t.name: ", ".join(sorted(t.types)) for t in session.graph.topics()}
    if as_json:
        show(found, True)
        return
    for name, kind in found.items():
        typer.echo(f"{name} [{kind}]" if types else name)


@app.command()
def info(
    topic: TopicArgument,
    as_json: JsonOption = False,
    wait: WaitOption = 3.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Show the publishers and subscribers of a topic, and their QoS.

    Example: openral topic info /joint_states
    """
    with graph_session(domain, network) as session:
        session.find_topic(topic, wait, published=False)
        session.graph.settle()
        entry = session.find_topic(topic, wait, published=False)
    data: dict[str, Any] = {"topic": entry.name, "types": sorted(entry.types)}
    for side in ("publishers", "subscriptions"):
        data[side] = [
            {"node": e.node or "(unnamed)", "qos": str(e.qos)} for e in getattr(entry, side)
        ]
    show(data, as_json)


@app.command()
def echo(
    topic: TopicArgument,
    count: Annotated[int, typer.Option("--count", "-n", help="End after so many; 0: never.")] = 0,
    once: Annotated[bool, typer.Option("--once", help="End after one.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Show long arrays entirely.")] = False,
    timeout: Annotated[float, typer.Option(help="End after so many seconds; 0: never.")] = 0.0,
    bag: BagOption = None,
    as_json: JsonOption = False,
    wait: WaitOption = 5.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Print the messages of a topic; exit code 1 if none was received.

    Example: openral topic echo /joint_states --once --json
    """
    from openral.ros.codec.convert import to_dict

    limit = 1 if once else count

    def print_message(message: Any) -> None:
        show(to_dict(message, None if full else _SHOWN_ITEMS), as_json)
        if not as_json:
            typer.echo("---")

    if bag is not None:
        shown = 0
        for record in messages_of(bag, topic, limit):
            print_message(record.message)
            shown += 1
        if not shown:
            raise typer.Exit(1)
        return
    with graph_session(domain, network) as session:
        heard = _listen(session, topic, wait, print_message, limit=limit, seconds=timeout)
        if not heard:
            raise NotThere(f"nothing heard on '{topic}'")


@app.command()
def hz(
    topic: TopicArgument,
    seconds: Annotated[float, typer.Option(help="End after so many; 0: until Ctrl-C.")] = 0.0,
    window: Annotated[int, typer.Option(help="Messages to average over.")] = 10000,
    bag: BagOption = None,
    as_json: JsonOption = False,
    wait: WaitOption = 5.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Measure the rate of a topic; exit code 1 if it is not published.

    Example: openral topic hz /joint_states --seconds 5
    """
    from openral.ros.rate_meter import RateMeter

    meter = RateMeter(window)

    def report() -> None:
        measured = meter.report()
        if measured is not None and not as_json:
            _show_rate(topic, measured, False)

    if bag is not None:
        recorded = rate_of(bag, topic, window)
        if recorded is None:
            typer.echo(f"fewer than two messages recorded on '{topic}'", err=True)
            raise typer.Exit(1)
        _show_rate(topic, recorded, as_json)
        return
    with graph_session(domain, network) as session:
        _listen(
            session,
            topic,
            wait,
            lambda payload: meter.tick(time.monotonic_ns()),
            seconds=seconds,
            every_second=report,
            raw=True,
        )
        measured = meter.report()
        if measured is None:
            raise NotThere(f"fewer than two messages heard on '{topic}'")
    if as_json:
        _show_rate(topic, measured, True)


def _show_rate(topic: str, measured: RateReport, as_json: bool) -> None:
    if as_json:
        show({"topic": topic, **measured.__dict__}, True)
        return
    typer.echo(
        f"{measured.hz:.2f} Hz  min {measured.min_s:.4f} s  max {measured.max_s:.4f} s  "
        f"std {measured.std_s:.5f} s  over {measured.count}"
    )


@app.command()
def pub(
    topic: TopicArgument,
    kind: Annotated[str, typer.Argument(help="Type, as std_msgs/msg/String.")],
    fields: Annotated[str, typer.Argument(help="The message's fields, as YAML.")] = "{}",
    rate: Annotated[float, typer.Option("--rate", "-r", help="Messages per second.")] = 1.0,
    count: Annotated[int, typer.Option("--count", "-n", help="End after so many; 0: never.")] = 0,
    once: Annotated[bool, typer.Option("--once", help="Publish one when somebody hears.")] = False,
    qos: Annotated[str, typer.Option(help="default, sensor, command, latched, ...")] = "default",
    wait: WaitOption = 5.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Publish a message; with --once or --count, exit code 1 if no subscriber appears in time.

    Example: openral topic pub /cmd_vel geometry_msgs/msg/Twist '{linear: {x: 0.1}}' -r 10
    """
    from openral.cli.ros.yaml_fields import parse_fields
    from openral.errors import ConfigError, choices
    from openral.ros.codec.convert import from_dict
    from openral.ros.node.executor import Executor
    from openral.ros.qos import PROFILES

    if qos not in PROFILES:
        raise ConfigError(f"no QoS profile '{qos}'; {choices(qos, PROFILES)}")
    message = from_dict(kind, parse_fields(fields))
    limit = 1 if once else count
    with graph_session(domain, network) as session:
        publisher = session.node.create_publisher(kind, topic, PROFILES[qos])
        give_up = time.monotonic() + wait
        while limit and not publisher.has_subscribers:
            if time.monotonic() > give_up:
                raise NotThere(f"nobody hears '{topic}'")
            time.sleep(0.02)
        executor = Executor(session.node.context)
        executor.add_node(session.node)
        sent = 0

        def send() -> None:
            nonlocal sent
            publisher.publish(message)
            sent += 1
            if limit and sent >= limit:
                executor.stop()

        send()
        session.node.create_timer(1.0 / rate, send)
        executor.spin()
        executor.shutdown()
        # Messages still in transit to a reliable reader would be lost with the writer.
        time.sleep(0.2)


def _listen(
    session: Session,
    topic: str,
    wait_s: float,
    heard: Callable[[Any], None],
    *,
    limit: int = 0,
    seconds: float = 0.0,
    every_second: Callable[[], None] | None = None,
    raw: bool = False,
) -> int:
    """Subscribes with the publishers' QoS until limit, time or Ctrl-C; returns the count."""
    from openral.ros.node.executor import Executor

    entry = session.find_topic(topic, wait_s)
    executor = Executor(session.node.context)
    executor.add_node(session.node)
    count = 0

    def on_message(message: Any) -> None:
        nonlocal count
        if not limit or count < limit:
            count += 1
            heard(message)
        if limit and count >= limit:
            executor.stop()

    kind = sorted(entry.types)[0]
    session.node.create_subscription(kind, entry.name, on_message, entry.common_qos(1000), raw=raw)
    if seconds:
        session.node.create_timer(seconds, executor.stop)
    if every_second is not None:
        session.node.create_timer(1.0, every_second)
    executor.spin()
    executor.shutdown()
    return count
