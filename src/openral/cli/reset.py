"""`openral reset`: arm the robot."""

from __future__ import annotations

import typer

from openral.cli.ros.graph_session import (
    DomainOption,
    NetworkOption,
    TimeoutOption,
    call_service,
    graph_session,
)

app = typer.Typer(help="Arm the robot, after start or after a stop.")


@app.command()
def reset(
    timeout: TimeoutOption = 5.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Arm the robot from its measured pose, after start or after a stop.

    Exit code 0: armed; 1: refused, or the kernel did not answer in time.

    Example: openral reset
    """
    with graph_session(domain, network) as session:
        answer = call_service(session, "std_srvs/srv/Trigger", "/openral/reset", timeout)
    typer.echo(answer.message, err=not answer.success)
    raise typer.Exit(0 if answer.success else 1)
