"""The transport interface between nodes and the wire: it moves bytes, independent of messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from openral.ros.qos import QoS


@dataclass(frozen=True)
class EndpointSpec:
    """Specification of a writer or reader."""

    topic: str
    """Name on the wire, with its rt/, rq/ or rr/ prefix."""
    type_name: str
    """DDS type name, as in `sensor_msgs::msg::dds_::JointState_`."""
    qos: QoS
    user_data: bytes = b""
    """Advertised to peers: type hash, service or client id."""
    hears_own_process: bool = True
    """False where local delivery has its own path, so that nothing arrives twice."""


@dataclass(frozen=True)
class RemoteEndpoint:
    """A writer or reader found by discovery, including this process's own."""

    guid: bytes
    participant: bytes
    topic: str
    type_name: str
    qos: QoS
    user_data: bytes
    is_writer: bool


class Sample(NamedTuple):
    """One received payload; `source` identifies its writer, see `Reader.peer`."""

    payload: bytes
    source: int
    stamp_ns: int


class Writer(Protocol):
    """Sends payloads to one topic."""

    guid: bytes

    def write(self, payload: bytes) -> None:
        """Sends one payload; TransportError if it cannot be sent."""

    def matched(self) -> int:
        """Number of readers that would receive the next payload over the wire."""

    def reaches(self, user_data_tag: bytes, participant: bytes) -> bool:
        """Whether a matched reader has this tag or, if that is empty, is of this participant."""

    def close(self) -> None:
        """Leaves the graph; idempotent."""


class Reader(Protocol):
    """Receives payloads of one topic."""

    guid: bytes

    def take(self) -> Sequence[Sample]:
        """Takes what has arrived, oldest first, without waiting."""

    def matched(self) -> int:
        """Number of writers matched over the wire."""

    def sources(self) -> frozenset[int]:
        """The matched writers, as the `source` numbers of their samples."""

    def incompatible(self) -> str:
        """The QoS policy because of which a writer did not match; empty if all matched."""

    def peer(self, source: int) -> RemoteEndpoint | None:
        """The writer of a sample; None if it has left."""

    def close(self) -> None:
        """Leaves the graph; idempotent."""


class Poller(Protocol):
    """Lets one thread wait for many readers."""

    def add(self, reader: Reader, ready: Callable[[], None], on_match: bool = False) -> None:
        """Calls `ready` when data has arrived and, with `on_match`, when peers come or go."""

    def remove(self, reader: Reader) -> None:
        """Removes a reader."""

    def wake(self) -> None:
        """Ends the current or next `wait`; thread-safe."""

    def wait(self, timeout_s: float) -> Sequence[Callable[[], None]]:
        """The `ready` calls that are due, after at most `timeout_s`; TransportError once closed."""

    def close(self) -> None:
        """Releases the poller's resources."""


class Transport(Protocol):
    """One participant on the wire, shared by all nodes of a context."""

    guid: bytes
    domain: int

    def writer(self, spec: EndpointSpec) -> Writer:
        """Opens a writer."""

    def reader(self, spec: EndpointSpec) -> Reader:
        """Opens a reader."""

    def poller(self) -> Poller:
        """Opens a poller."""

    def endpoints(self) -> Sequence[RemoteEndpoint]:
        """Every endpoint currently known to discovery."""

    def participants(self) -> Mapping[bytes, str]:
        """Host and process that participants report, by the first 12 bytes of their GUID."""

    def close(self) -> None:
        """Leaves the graph; idempotent."""
