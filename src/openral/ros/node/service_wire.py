"""Wire format of ROS services with in-payload request ids, as in rmw_cyclonedds."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from openral.ros import names
from openral.ros.codec import types
from openral.ros.qos import SERVICE
from openral.ros.transport.transport import EndpointSpec

HEADER = 16
"""Bytes of client id (u64) and sequence number (i64), right after CDR's 4-byte header."""
_CDR = 4
_ids = itertools.count(1)


@dataclass(frozen=True)
class ServiceSpecs:
    """The endpoints of one server or client."""

    request: EndpointSpec
    reply: EndpointSpec
    tag: bytes


def service_specs(participant: bytes, service: str, type_name: str, role: str) -> ServiceSpecs:
    """The endpoints of one side of a service; `participant` is the transport's guid.

    `role` is `serviceid` or `clientid`: the tag that pairs the two endpoints.
    """
    identity = participant[:12] + next(_ids).to_bytes(4, "big")
    tag = f"{role}={'.'.join(f'{byte:x}' for byte in identity)};".encode()
    user_data = tag + types.hash_tag(type_name)
    return ServiceSpecs(
        EndpointSpec(
            names.request_on_wire(service),
            types.dds_type_name(f"{type_name}_Request"),
            SERVICE,
            user_data,
        ),
        EndpointSpec(
            names.reply_on_wire(service),
            types.dds_type_name(f"{type_name}_Response"),
            SERVICE,
            user_data,
        ),
        tag,
    )


def request_id(payload: bytes) -> bytes | None:
    """Client id and sequence number, 16 bytes; None if the message is too short."""
    return payload[_CDR : _CDR + HEADER] if len(payload) > _CDR + HEADER else None


def find_tag(user_data: bytes, role: str) -> bytes:
    """The `role=...;` entry of the user data; empty if there is none."""
    wanted = f"{role}=".encode()
    for entry in user_data.split(b";"):
        if entry.startswith(wanted):
            return entry + b";"
    return b""
