"""Shared by the graph commands: options, a hidden node, and lookup of nodes and topics."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from openral.errors import choices

if TYPE_CHECKING:
    from openral.ros.graph import Graph, NodeEntry, TopicEntry
    from openral.ros.node.node import Node

T = TypeVar("T")
DomainOption = Annotated[
    int | None, typer.Option("--domain", help="DDS domain; else OPENRAL_DOMAIN, else 73.")
]
NetworkOption = Annotated[
    str | None,
    typer.Option("--network", help="Leave this machine: 'auto' or an interface's name."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
WaitOption = Annotated[float, typer.Option("--wait", help="Seconds to wait for it to appear.")]
TimeoutOption = Annotated[float, typer.Option("--timeout", help="Seconds to wait for an answer.")]


class NotThere(Exception):  # noqa: N818 - an answer, not a fault
    """What was requested is not in the graph: exit code 1."""


@dataclass
class Session:
    """A command's node and its view of the graph."""

    node: Node
    graph: Graph

    def find_node(self, name: str, wait_s: float) -> NodeEntry:
        """The node of this name, absolute or not; waits up to `wait_s` for it to appear."""
        return _find(name, wait_s, "node", lambda: {n.full_name: n for n in self.graph.nodes(True)})

    def find_topic(self, name: str, wait_s: float, published: bool = True) -> TopicEntry:
        """The topic of this name, within `wait_s`; with `published`, one that has a publisher."""

        def known() -> dict[str, TopicEntry]:
            return {t.name: t for t in self.graph.topics() if t.publishers or not published}

        return _find(name, wait_s, "topic", known)

    def find_service(self, name: str, wait_s: float) -> TopicEntry:
        """The service of this name, within `wait_s`."""
        return _find(name, wait_s, "service", lambda: {s.name: s for s in self.graph.services()})


def _find(name: str, wait_s: float, noun: str, known: Callable[[], dict[str, T]]) -> T:
    wanted = name if name.startswith("/") else f"/{name}"
    give_up = time.monotonic() + wait_s
    while wanted not in (there := known()):
        if time.monotonic() > give_up:
            hint = choices(wanted, there, f"{noun}s")
            raise NotThere(f"no {noun} '{wanted}' in the graph; {hint}")
        time.sleep(0.03)
    return there[wanted]


@contextmanager
def graph_session(domain: int | None, network: str | None) -> Iterator[Session]:
    """Joins the graph as a hidden node; NotThere becomes a message and exit code 1."""
    from openral.ros.graph import Graph
    from openral.ros.node.context import Context
    from openral.ros.node.node import Node
    from openral.ros.transport.dds_config import Network

    place = Network.from_environment(domain, network)
    with Context(place) as context:
        node = Node(f"_openral_cli_{os.getpid()}", context=context, parameter_services=False)
        graph = Graph(context)
        try:
            yield Session(node, graph)
        except NotThere as answer:
            alone = f"; no graph runs in domain {place.domain}" if not graph.nodes() else ""
            typer.echo(f"{answer}{alone}", err=True)
            raise typer.Exit(1) from None
        finally:
            graph.close()


def call_service(session: Session, kind: str, name: str, timeout_s: float, **fields: Any) -> Any:
    """Calls a service once; NotThere if there is no server or it does not answer in time."""
    from openral.errors import TransportError

    client = session.node.create_client(kind, name)
    try:
        return client.call(client.request_class(**fields), timeout_s)
    except TransportError as error:
        raise NotThere(str(error)) from None


def show(data: Any, as_json: bool) -> None:
    """Prints data as JSON or as YAML."""
    if as_json:
        typer.echo(json.dumps(data))
        return
    import yaml

    typer.echo(yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip())
