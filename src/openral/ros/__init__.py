"""ROS 2 without a ROS installation: types, transport, nodes, time and transforms.

The names that programs use most can be taken from here: `from openral.ros import Node, spin`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openral.ros.action_client import ActionClient as ActionClient
    from openral.ros.action_server import ActionServer as ActionServer
    from openral.ros.context import Context as Context
    from openral.ros.executor import Executor as Executor
    from openral.ros.executor import spin as spin
    from openral.ros.lifecycle_machine import Outcome as Outcome
    from openral.ros.lifecycle_machine import State as State
    from openral.ros.lifecycle_node import LifecycleNode as LifecycleNode
    from openral.ros.node import Node as Node
    from openral.ros.parameters import Parameter as Parameter
    from openral.ros.qos import QoS as QoS

_HOMES = {
    "ActionClient": "action_client",
    "ActionServer": "action_server",
    "Context": "context",
    "Executor": "executor",
    "LifecycleNode": "lifecycle_node",
    "Node": "node",
    "Outcome": "lifecycle_machine",
    "Parameter": "parameters",
    "QoS": "qos",
    "State": "lifecycle_machine",
    "spin": "executor",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'openral.ros' has no attribute '{name}'")
    return getattr(importlib.import_module(f"openral.ros.{_HOMES[name]}"), name)
