"""The seam between nodes and the wire: it moves bytes and knows nothing of messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from openral.ros.qos import QoS


@dataclass(frozen=True)
class EndpointSpec:
    """What a writer or reader is made from."""

    topic: str
    """Name on the wire, with its rt/, rq/ or rr/ prefix."""
    type_name: str
    """DDS name of the type, as in `sensor_msgs::msg::dds_::JointState_`."""
    qos: QoS
    user_data: bytes = b""
    """Advertised to peers: type hash, service or client id."""
    hears_own_process: bool = True
    """False where local delivery has a path of its own, so that nothing arrives twice."""


@dataclass(frozen=True)
class RemoteEndpoint:
    """A writer or reader that discovery has found, ours included."""

    guid: bytes
    participant: bytes
    topic: str
    type_name: str
    qos: QoS
    user_data: bytes
    is_writer: bool


class Sample(NamedTuple):
    """One received payload; `source` names its writer to `Reader.peer`."""

    payload: bytes
    source: int
    stamp_ns: int


class Writer(Protocol):
    """Sends payloads to one topic."""

    guid: bytes

    def write(self, payload: bytes) -> None:
        """Sends one payload; raises TransportError where the wire refuses it."""

    def matched(self) -> int:
        """How many readers would get the next payload by wire."""

    def reaches(self, user_data_tag: bytes, participant: bytes) -> bool:
        """Whether a matched reader carries this tag or, where none is given, lives there."""

    def close(self) -> None:
        """Leaves the graph; safe to call twice."""


class Reader(Protocol):
    """Receives payloads of one topic."""

    guid: bytes

    def take(self) -> Sequence[Sample]:
        """What has arrived, oldest first, without waiting."""

    def matched(self) -> int:
        """How many writers this reader hears by wire."""

    def sources(self) -> frozenset[int]:
        """The writers that this reader hears, by the numbers that samples carry."""

    def incompatible(self) -> str:
        """The policy for which a writer could not be matched; empty if all could."""

    def peer(self, source: int) -> RemoteEndpoint | None:
        """Who wrote a sample; None if that writer has left."""

    def close(self) -> None:
        """Leaves the graph; safe to call twice."""


class Poller(Protocol):
    """Lets one thread wait for many readers."""

    def add(self, reader: Reader, ready: Callable[[], None], on_match: bool = False) -> None:
        """Calls `ready` when data has come (and, with `on_match`, when peers come or go)."""

    def remove(self, reader: Reader) -> None:
        """Forgets a reader."""

    def wake(self) -> None:
        """Ends the current or next `wait`; may be called from any thread."""

    def wait(self, timeout_s: float) -> Sequence[Callable[[], None]]:
        """The `ready` calls that are due, after at most `timeout_s`; TransportError once closed."""

    def close(self) -> None:
        """Gives back what the poller holds."""


class Transport(Protocol):
    """One presence on the wire, shared by all nodes of a context."""

    guid: bytes
    domain: int

    def writer(self, spec: EndpointSpec) -> Writer:
        """Opens a writer."""

    def reader(self, spec: EndpointSpec) -> Reader:
        """Opens a reader."""

    def poller(self) -> Poller:
        """Opens a poller."""

    def endpoints(self) -> Sequence[RemoteEndpoint]:
        """Every endpoint that discovery knows now."""

    def participants(self) -> Mapping[bytes, str]:
        """Where participants say that they run, by the first twelve bytes of their guid."""

    def close(self) -> None:
        """Leaves the graph; safe to call twice."""
