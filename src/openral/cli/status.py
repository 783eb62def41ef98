"""`openral status`: show the state of the safety kernel."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openral.cli.ros.graph_session import (
    DomainOption,
    JsonOption,
    NetworkOption,
    NotThere,
    graph_session,
    show,
)

if TYPE_CHECKING:
    from openral.cli.ros.graph_session import Session

app = typer.Typer(help="Show what the safety kernel is doing.")

_STATES = ("idle", "armed", "estopped", "recovery")
_TOPIC = "/openral/safety_state"


@app.command()
def status(
    as_json: JsonOption = False,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds to wait.")] = 3.0,
    domain: DomainOption = None,
    network: NetworkOption = None,
) -> None:
    """Show whether the robot is armed or stopped, why, and the counts of verdicts.

    Exit code 0: the kernel is alive; 1: no heartbeat was received in time.

    Example: openral status --json
    """
    with graph_session(domain, network) as session:
        message = _live_state(session, timeout)
    state = _STATES[message.state] if message.state < len(_STATES) else str(message.state)
    data = {
        "state": state,
        "source": message.source,
        "reason": message.reason,
        "detail": message.detail,
        "warn_only": message.warn_only,
        "epoch": message.epoch,
        "beat": message.beat,
        "sequence": message.sequence,
        "accepted": message.accepted,
        "rejected": message.rejected,
        "dropped": message.dropped,
    }
    show(data, as_json)


def _live_state(session: Session, timeout_s: float) -> Any:
    """The second state received: the first may be latched from a kernel that has died."""
    from openral.ros.node.executor import Executor
    from openral.ros.qos import LATCHED

    heard: queue.Queue[Any] = queue.Queue()
    session.node.create_subscription("openral_msgs/msg/SafetyState", _TOPIC, heard.put, LATCHED)
    executor = Executor(session.node.context)
    executor.add_node(session.node)
    executor.start()
    try:
        heard.get(timeout=timeout_s)
        return heard.get(timeout=timeout_s)
    except queue.Empty:
        raise NotThere(f"no heartbeat on {_TOPIC} within {timeout_s:g} s") from None
    finally:
        executor.shutdown()
