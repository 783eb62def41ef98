"""ROS 2 without a ROS installation: types, transport, nodes, time and transforms.

The most used names can be imported from here: `from openral.ros import Node, spin`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openral.ros.actions.client import ActionClient as ActionClient
    from openral.ros.actions.server import ActionServer as ActionServer
    from openral.ros.lifecycle.machine import Outcome as Outcome
    from openral.ros.lifecycle.machine import State as State
    from openral.ros.lifecycle.node import LifecycleNode as LifecycleNode
    from openral.ros.node.context import Context as Context
    from openral.ros.node.executor import Executor as Executor
    from openral.ros.node.executor import spin as spin
    from openral.ros.node.node import Node as Node
    from openral.ros.parameters.store import Parameter as Parameter
    from openral.ros.qos import QoS as QoS

_HOMES = {
    "ActionClient": "openral.ros.actions.client",
    "ActionServer": "openral.ros.actions.server",
    "Context": "openral.ros.node.context",
    "Executor": "openral.ros.node.executor",
    "LifecycleNode": "openral.ros.lifecycle.node",
    "Node": "openral.ros.node.node",
    "Outcome": "openral.ros.lifecycle.machine",
    "Parameter": "openral.ros.parameters.store",
    "QoS": "openral.ros.qos",
    "State": "openral.ros.lifecycle.machine",
    "spin": "openral.ros.node.executor",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'openral.ros' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
