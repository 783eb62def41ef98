"""`openral node`: list nodes and show their endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from openral.cli.ros.graph_session import (
    DomainOption,
    JsonOption,
    NetworkOption,
    WaitOption,
    graph_session,
    show,
)

if TYPE_CHECKING:
    from openral.ros.graph import Endpoint

app = typer.Typer(no_args_is_help=True, help="Nodes of the graph.")


@app.command("list")
def list_nodes(
    all_: Annotated[bool, typer.Option("--all", "-a", help="Hidden nodes too.")] = False,
    as_json: JsonOption = False,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """List the nodes of the graph.

    Example: openral node list
    """
    with graph_session(domain, network) as session:
        session.graph.settle()
        found = [node.full_name for node in session.graph.nodes(hidden=all_)]
    show(found, True) if as_json else typer.echo("\n".join(found) or "no nodes", nl=True)


@app.command()
def info(
    name: Annotated[str, typer.Argument(help="The node's name.")],
    as_json: JsonOption = False,
    wait: WaitOption = 3.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Show what a node publishes, subscribes to, serves and calls.

    Example: openral node info /hal
    """
    with graph_session(domain, network) as session:
        session.find_node(name, wait)
        session.graph.settle()
        node = session.find_node(name, wait)
    sides: dict[str, list[Endpoint]] = {
        "publishers": node.publishers,
        "subscriptions": node.subscriptions,
        "services": node.servers,
        "clients": node.clients,
    }
    data: dict[str, Any] = {"node": node.full_name}
    for side, endpoints in sides.items():
        data[side] = {e.name: e.type_name for e in sorted(endpoints, key=lambda e: e.name)}
    show(data, as_json)
