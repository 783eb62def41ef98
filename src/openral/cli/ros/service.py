"""`openral service`: list services and call them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from openral.cli.ros.graph_session import (
    DomainOption,
    JsonOption,
    NetworkOption,
    TimeoutOption,
    WaitOption,
    call_service,
    graph_session,
    show,
)

app = typer.Typer(no_args_is_help=True, help="Services of the graph.")


@app.command("list")
def list_services(
    types: Annotated[bool, typer.Option("--types", "-t", help="Show types.")] = False,
    as_json: JsonOption = False,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """List the services of the graph.

    Example: openral service list -t
    """
    with graph_session(domain, network) as session:
        session.graph.settle()
        found = {s.name: ", ".join(sorted(s.types)) for s in session.graph.services()}
    if as_json:
        show(found, True)
        return
    for name, kind in found.items():
        typer.echo(f"{name} [{kind}]" if types else name)


@app.command()
def call(
    name: Annotated[str, typer.Argument(help="The service.")],
    request: Annotated[str, typer.Argument(help="Fields of the request, as YAML.")] = "{}",
    as_json: JsonOption = False,
    wait: WaitOption = 3.0,
    timeout: TimeoutOption = 10.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Call a service and print its response.

    Example: openral service call /hal/negate '{data: true}'
    """
    from openral.cli.ros.yaml_fields import parse_fields
    from openral.ros.codec.convert import from_dict, to_dict

    with graph_session(domain, network) as session:
        service = session.find_service(name, wait)
        kind = sorted(service.types)[0]
        filled: Any = from_dict(f"{kind}_Request", parse_fields(request))
        fields = {slot: getattr(filled, slot) for slot in filled.__slots__}
        answer = call_service(session, kind, service.name, timeout, **fields)
    show(to_dict(answer), as_json)
