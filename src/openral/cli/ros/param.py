"""`openral param`: read and change the parameters of a node."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from openral.cli.ros.graph_session import (
    DomainOption,
    JsonOption,
    NetworkOption,
    NotThere,
    Session,
    TimeoutOption,
    WaitOption,
    call_service,
    graph_session,
    show,
)

app = typer.Typer(no_args_is_help=True, help="Parameters of nodes.")

NodeArgument = Annotated[str, typer.Argument(help="The node.")]
NameArgument = Annotated[str, typer.Argument(help="The parameter.")]
_SERVICES = "rcl_interfaces/srv"


@app.command("list")
def list_parameters(
    node: NodeArgument,
    as_json: JsonOption = False,
    wait: WaitOption = 3.0,
    timeout: TimeoutOption = 5.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """List the parameters of a node with their values.

    Example: openral param list /hal
    """
    with graph_session(domain, network) as session:
        name = session.find_node(node, wait).full_name
        answer = call_service(
            session, f"{_SERVICES}/ListParameters", f"{name}/list_parameters", timeout
        )
        names = list(answer.result.names)
        values = _values(session, name, names, timeout)
    found = dict(zip(names, values, strict=True))
    show(found, as_json)


@app.command()
def get(
    node: NodeArgument,
    name: NameArgument,
    as_json: JsonOption = False,
    wait: WaitOption = 3.0,
    timeout: TimeoutOption = 5.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Print the value of a parameter; exit code 1 if the node has no such parameter.

    Example: openral param get /hal use_sim_time
    """
    with graph_session(domain, network) as session:
        full = session.find_node(node, wait).full_name
        value = _values(session, full, [name], timeout)[0]
        if value is None:
            raise NotThere(f"node '{full}' has no parameter '{name}', or it is not set")
    show({name: value}, True) if as_json else typer.echo(value)


@app.command("set")
def set_parameter(
    node: NodeArgument,
    name: NameArgument,
    value: Annotated[str, typer.Argument(help="The new value, as YAML.")],
    wait: WaitOption = 3.0,
    timeout: TimeoutOption = 5.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Change a parameter; exit code 1 with the reason if the node refuses.

    Example: openral param set /hal use_sim_time true
    """
    from openral.cli.ros.yaml_fields import parse_value
    from openral.ros.node.parameter_services import parameter_to_msg
    from openral.ros.parameters.store import Parameter

    wanted = parameter_to_msg(Parameter(name, parse_value(value)))
    with graph_session(domain, network) as session:
        full = session.find_node(node, wait).full_name
        kind, service = f"{_SERVICES}/SetParameters", f"{full}/set_parameters"
        result = call_service(session, kind, service, timeout, parameters=[wanted]).results[0]
        if not result.successful:
            raise NotThere(f"refused: {result.reason}")
    typer.echo(f"{name} set")


def _values(session: Session, node: str, names: list[str], timeout: float) -> list[Any]:
    from openral.ros.node.parameter_services import value_from_msg

    kind = f"{_SERVICES}/GetParameters"
    answer = call_service(session, kind, f"{node}/get_parameters", timeout, names=names)
    return [value_from_msg(value) for value in answer.values]
