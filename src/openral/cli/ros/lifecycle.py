"""`openral lifecycle`: read and change the state of managed nodes."""

from __future__ import annotations

from typing import Annotated

import typer

from openral.cli.ros.graph_session import (
    DomainOption,
    JsonOption,
    NetworkOption,
    NotThere,
    TimeoutOption,
    WaitOption,
    call_service,
    graph_session,
    show,
)
from openral.ros import msg

app = typer.Typer(no_args_is_help=True, help="Managed nodes.")

NodeArgument = Annotated[str, typer.Argument(help="The managed node.")]
_SERVICES = "lifecycle_msgs/srv"


@app.command()
def get(
    node: NodeArgument,
    as_json: JsonOption = False,
    wait: WaitOption = 3.0,
    timeout: TimeoutOption = 5.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Print the state of a managed node and its available transitions.

    Example: openral lifecycle get /hal
    """
    with graph_session(domain, network) as session:
        name = session.find_service(f"{node}/get_state", wait).name.removesuffix("/get_state")
        state = call_service(session, f"{_SERVICES}/GetState", f"{name}/get_state", timeout)
        kind, service = f"{_SERVICES}/GetAvailableTransitions", f"{name}/get_available_transitions"
        possible = call_service(session, kind, service, timeout).available_transitions
    labels = [t.transition.label for t in possible]
    label = state.current_state.label
    if as_json:
        show({"state": label, "id": state.current_state.id, "possible": labels}, True)
    else:
        typer.echo(f"{label} (possible: {', '.join(labels) or 'nothing'})")


@app.command("set")
def set_state(
    node: NodeArgument,
    transition: Annotated[str, typer.Argument(help="configure, activate, deactivate, ...")],
    wait: WaitOption = 3.0,
    timeout: TimeoutOption = 30.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Request a transition; exit code 1 if the node does not complete it.

    Example: openral lifecycle set /hal activate
    """

    wanted = msg.Transition(label=transition)
    with graph_session(domain, network) as session:
        name = session.find_service(f"{node}/get_state", wait).name.removesuffix("/get_state")
        kind, service = f"{_SERVICES}/ChangeState", f"{name}/change_state"
        done = call_service(session, kind, service, timeout, transition=wanted).success
        state = call_service(session, f"{_SERVICES}/GetState", f"{name}/get_state", timeout)
        label = state.current_state.label
        if not done:
            raise NotThere(f"'{transition}' failed; the node is {label} (its log says why)")
    typer.echo(label)
