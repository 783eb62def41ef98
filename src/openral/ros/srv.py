"""Service types by short name: `from openral.ros.srv import Trigger; Trigger.Request()`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openral.ros.codec.short_names import full_name, names_of_kind
from openral.ros.codec.types import message_class, registry


@dataclass(frozen=True)
class ServiceType:
    """A service: its ROS name and the classes of its two messages."""

    name: str
    Request: Any
    Response: Any


def service_type(name: str) -> ServiceType:
    """The service with the full name, such as `std_srvs/srv/Trigger`."""
    registry.definition(name)
    return ServiceType(name, message_class(f"{name}_Request"), message_class(f"{name}_Response"))


def __getattr__(name: str) -> ServiceType:
    if name.startswith("__"):
        raise AttributeError(name)
    found = service_type(full_name("srv", name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(names_of_kind("srv"))
