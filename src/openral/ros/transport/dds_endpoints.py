"""Writer and reader of raw CDR bytes on Cyclone DDS."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from cyclonedds._clayer import ddspy_take, ddspy_write
from cyclonedds.core import DDSException, InstanceState, SampleState, ViewState
from cyclonedds.internal import DDS, dds_c_t
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader

from openral.errors import TransportError
from openral.ros.transport.dds_domain import delete
from openral.ros.transport.dds_qos import from_cyclone
from openral.ros.transport.transport import RemoteEndpoint, Sample

ANY_STATE = int(SampleState.Any | ViewState.Any | InstanceState.Any)
_BATCH = 64
_PREFIX = 12
"""Length in bytes of the GUID prefix, which identifies the participant."""

_matched_readers = DDS._dll_handle.dds_get_matched_subscriptions
_matched_writers = DDS._dll_handle.dds_get_matched_publications
_incompatible = DDS._dll_handle.dds_get_requested_incompatible_qos_status
_POLICIES = {2: "durability", 11: "reliability"}
for _function in (_matched_readers, _matched_writers):
    _function.argtypes = [ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t]
    _function.restype = ctypes.c_int32


class DdsWriter:
    """Implements `transport.Writer`."""

    def __init__(self, entity: DataWriter[Any], topic: str, released: Callable[[], None]) -> None:
        self._entity = entity
        self._released: Callable[[], None] | None = released
        self._ref = entity._ref
        self._topic = topic
        self.guid: bytes = entity.guid.bytes

    def write(self, payload: bytes) -> None:
        """Sends CDR with its 4-byte header, padded here to a multiple of 4 bytes as in ROS."""
        rest = len(payload) & 3
        code = ddspy_write(self._ref, payload + b"\0\0\0"[rest - 1 :] if rest else payload)
        if code < 0:
            raise TransportError(
                f"cannot send {len(payload)} bytes on '{self._topic}': DDS code {code}"
            )

    def matched(self) -> int:
        """Number of matched readers, including those of other contexts in this process."""
        return max(0, int(_matched_readers(self._ref, None, 0)))

    def reaches(self, user_data_tag: bytes, participant: bytes) -> bool:
        """See `transport.Writer`."""
        for handle in self._entity.get_matched_subscriptions():
            data = self._entity.get_matched_subscription_data(handle)
            if data is None:
                continue
            tags = from_cyclone(data.qos)[1]
            if (
                user_data_tag in tags
                if user_data_tag
                else (data.key.bytes[:_PREFIX] == participant[:_PREFIX])
            ):
                return True
        return False

    def close(self) -> None:
        """See `transport.Writer`."""
        released, self._released = self._released, None
        if released is not None:
            delete(self._entity)
            released()


class DdsReader:
    """Implements `transport.Reader`."""

    def __init__(self, entity: DataReader[Any], released: Callable[[], None]) -> None:
        self.entity = entity
        self._released: Callable[[], None] | None = released
        self._ref = entity._ref
        self.guid: bytes = entity.guid.bytes

    def take(self) -> list[Sample]:
        """Takes at most one batch; the poller reports the reader again while data remains."""
        taken = ddspy_take(self._ref, ANY_STATE, _BATCH)
        if isinstance(taken, int):
            return []
        return [
            Sample(payload, info.publication_handle, info.source_timestamp)
            for payload, info in taken
            if info.valid_data
        ]

    def matched(self) -> int:
        """See `transport.Reader`."""
        return max(0, int(_matched_writers(self._ref, None, 0)))

    def sources(self) -> frozenset[int]:
        """See `transport.Reader`."""
        try:
            return frozenset(self.entity.get_matched_publications())
        except DDSException:  # closed by another thread in the meantime
            return frozenset()

    def incompatible(self) -> str:
        """See `transport.Reader`."""
        status = dds_c_t.requested_incompatible_qos_status()
        if _incompatible(self._ref, ctypes.byref(status)) != 0 or not status.total_count:
            return ""
        return _POLICIES.get(status.last_policy_id, f"policy {status.last_policy_id}")

    def peer(self, source: int) -> RemoteEndpoint | None:
        """See `transport.Reader`."""
        data = self.entity.get_matched_publication_data(source)
        return None if data is None else remote_endpoint(data, is_writer=True)

    def close(self) -> None:
        """See `transport.Reader`."""
        released, self._released = self._released, None
        if released is not None:
            delete(self.entity)
            released()


class _Discovered(NamedTuple):
    """The fields of Cyclone's endpoint sample that are used here."""

    key: Any
    participant_key: Any
    topic_name: str
    type_name: str
    qos: Any


def remote_endpoint(data: _Discovered | Any, is_writer: bool) -> RemoteEndpoint:
    """Converts Cyclone's discovery data of an endpoint."""
    qos, user_data = from_cyclone(data.qos)
    return RemoteEndpoint(
        guid=data.key.bytes,
        participant=data.participant_key.bytes,
        topic=data.topic_name,
        type_name=data.type_name,
        qos=qos,
        user_data=user_data,
        is_writer=is_writer,
    )
