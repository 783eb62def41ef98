"""Action types by short name: `from openral.ros.action import ExecuteSkill`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openral.ros.codec.short_names import full_name, names_of_kind
from openral.ros.codec.types import message_class, registry
from openral.ros.srv import ServiceType, service_type


@dataclass(frozen=True)
class ActionType:
    """An action: its ROS name, its message classes and the services of its protocol."""

    name: str
    Goal: Any
    Result: Any
    Feedback: Any
    FeedbackMessage: Any
    """Goal id and feedback, on the topic `_action/feedback`."""
    SendGoal: ServiceType
    GetResult: ServiceType
    CancelGoal: ServiceType


def action_type(name: str) -> ActionType:
    """The action with the full name, such as `openral_msgs/action/ExecuteSkill`."""
    registry.definition(name)
    return ActionType(
        name,
        message_class(f"{name}_Goal"),
        message_class(f"{name}_Result"),
        message_class(f"{name}_Feedback"),
        message_class(f"{name}_FeedbackMessage"),
        service_type(f"{name}_SendGoal"),
        service_type(f"{name}_GetResult"),
        service_type("action_msgs/srv/CancelGoal"),
    )


def __getattr__(name: str) -> ActionType:
    if name.startswith("__"):
        raise AttributeError(name)
    found = action_type(full_name("action", name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(names_of_kind("action"))
