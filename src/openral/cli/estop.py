"""`openral estop`: stop the robot now."""

from __future__ import annotations

from typing import Annotated

import typer

from openral.cli.ros.graph_session import (
    DomainOption,
    JsonOption,
    NetworkOption,
    TimeoutOption,
    call_service,
    graph_session,
    show,
)

app = typer.Typer(help="Stop the robot now.")


@app.command()
def estop(
    reason: Annotated[str, typer.Option(help="Why, as a sentence.")] = "asked for by hand",
    as_json: JsonOption = False,
    timeout: TimeoutOption = 5.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Stop the robot now; nothing moves until `openral reset`.

    Exit code 0: the kernel has latched the stop; 1: the kernel did not answer in time.

    Example: openral estop --reason "cable loose"
    """
    with graph_session(domain, network) as session:
        words = {"source": "operator", "reason": reason}
        answer = call_service(session, "openral_msgs/srv/EStop", "/openral/estop", timeout, **words)
    if as_json:
        words = {"success": answer.success, "applied": answer.applied, "message": answer.message}
        show(words, True)
    else:
        typer.echo(answer.message)
    raise typer.Exit(0 if answer.success else 1)
