"""Owner: what the endpoints of a node need of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from openral.ros.log import NodeLogger
from openral.ros.node.context import Context


class Owner(Protocol):
    """The node that an endpoint belongs to."""

    context: Context
    log: NodeLogger

    def run_callback(self, callback: Callable[[Any], Any], argument: Any) -> None:
        """Runs a callback; what it raises is reported with the node's name and goes no further."""
