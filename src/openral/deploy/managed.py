"""ManagedNode: service calls for the transitions and parameters of one lifecycle node."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from openral.ros import msg
from openral.ros.node.client import Client
from openral.ros.node.node import Node
from openral.ros.node.parameter_services import value_from_msg, value_to_msg

_LIFE = "lifecycle_msgs/srv"
_PARAMETERS = "rcl_interfaces/srv"


class ManagedNode:
    """All calls return a Future, so that the caller can do other work while it waits."""

    def __init__(self, node: Node, name: str) -> None:
        self.name = name
        with node.context.presence.batch_announcements():
            self._change = node.create_client(f"{_LIFE}/ChangeState", f"/{name}/change_state")
            self._state = node.create_client(f"{_LIFE}/GetState", f"/{name}/get_state")
            self._set = node.create_client(
                f"{_PARAMETERS}/SetParameters", f"/{name}/set_parameters"
            )
            self._get = node.create_client(
                f"{_PARAMETERS}/GetParameters", f"/{name}/get_parameters"
            )

    @property
    def is_there(self) -> bool:
        """Whether its services can be called."""
        return all(client.service_is_ready() for client in self._clients)

    @property
    def _clients(self) -> tuple[Client, ...]:
        return self._change, self._state, self._set, self._get

    def transition(self, label: str) -> Future[Any]:
        """Requests a transition; `success` of the response says whether it was completed."""
        wanted = msg.Transition(label=label)
        return self._change.call_async(self._change.request_class(transition=wanted))

    def state(self) -> Future[Any]:
        """Requests the state; see `current_state.label` of the response."""
        return self._state.call_async(self._state.request_class())

    def set_parameter(self, name: str, value: Any) -> Future[Any]:
        """Sets a parameter; see `results[0].successful` and `.reason` of the response."""
        wanted = msg.Parameter(name=name, value=value_to_msg(value))
        return self._set.call_async(self._set.request_class(parameters=[wanted]))

    def parameter(self, name: str) -> Future[Any]:
        """Requests a parameter; read the response with `value_of`."""
        return self._get.call_async(self._get.request_class(names=[name]))


def value_of(answer: Any) -> Any:
    """The value in the response to `ManagedNode.parameter`."""
    return value_from_msg(answer.values[0])
