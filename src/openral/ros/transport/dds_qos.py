"""Converts between openral's QoS and Cyclone's."""

from __future__ import annotations

from typing import Any

from cyclonedds.core import Policy, Qos
from cyclonedds.util import duration

from openral.ros.qos import QoS
from openral.ros.transport.transport import EndpointSpec

_BLOCK = duration(seconds=1)
"""How long a reliable writer may block on slow readers before it reports the loss."""


def to_cyclone(spec: EndpointSpec, is_reader: bool) -> Qos:
    """Cyclone's policies for one endpoint."""
    qos = spec.qos
    policies: list[Any] = [
        Policy.Reliability.Reliable(_BLOCK) if qos.reliable else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if qos.latched else Policy.Durability.Volatile,
        Policy.History.KeepLast(qos.depth) if qos.depth else Policy.History.KeepAll,
    ]
    if qos.latched and not is_reader:
        policies.append(Policy.DurabilityService(0, Policy.History.KeepLast(qos.depth), -1, -1, -1))
    if spec.user_data:
        policies.append(Policy.Userdata(spec.user_data))
    if is_reader and not spec.hears_own_process:
        policies.append(Policy.IgnoreLocal.Participant)
    return Qos(*policies)


def from_cyclone(qos: Qos) -> tuple[QoS, bytes]:
    """QoS and user data of a discovered endpoint; unspecified policies have DDS's defaults."""
    found: dict[str, Any] = {policy.__scope__: policy for policy in qos}
    history = found.get("History")
    data = found.get("Userdata")
    return (
        QoS(
            reliable="Reliable" in repr(found.get("Reliability", "")),
            latched="TransientLocal" in repr(found.get("Durability", "")),
            depth=int(getattr(history, "depth", 0 if "KeepAll" in repr(history) else 1)),
        ),
        bytes(data.data) if data else b"",
    )
