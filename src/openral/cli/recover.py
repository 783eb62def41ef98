"""`openral recover`: back out of the margin after a stop."""

from __future__ import annotations

from typing import Annotated

import typer

from openral.cli.ros.graph_session import (
    DomainOption,
    NetworkOption,
    TimeoutOption,
    call_service,
    graph_session,
)

app = typer.Typer(help="Let slow motion out of the margin pass, after a stop.")


@app.command()
def recover(
    end: Annotated[bool, typer.Option("--end", help="End recovery: stop again.")] = False,
    timeout: TimeoutOption = 5.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Accept only slow motion that leads out of the margin, until the robot is clear.

    Exit code 0: done; 1: refused, or the kernel did not answer in time.

    Example: openral recover
    """
    with graph_session(domain, network) as session:
        kind, name = "std_srvs/srv/SetBool", "/openral/recover"
        answer = call_service(session, kind, name, timeout, data=not end)
    typer.echo(answer.message, err=not answer.success)
    raise typer.Exit(0 if answer.success else 1)
