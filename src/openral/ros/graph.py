"""Introspection of the live graph: nodes, topics and services, of openral and any ROS 2 peer."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from openral.errors import CorruptMessage
from openral.ros import names
from openral.ros.codec import types
from openral.ros.node.context import Context
from openral.ros.node.presence import TYPE, presence_spec
from openral.ros.qos import QoS
from openral.ros.transport.transport import RemoteEndpoint

_STEADY_S = 0.3
_POLL_S = 0.03


@dataclass(frozen=True)
class Endpoint:
    """A publisher, subscription, server or client."""

    name: str
    """ROS name of the topic or service."""
    type_name: str
    node: str
    """Full name of its node; empty if its participant announces none."""
    qos: QoS
    guid: bytes


@dataclass
class NodeEntry:
    """A node and its endpoints."""

    full_name: str
    publishers: list[Endpoint] = field(default_factory=list)
    subscriptions: list[Endpoint] = field(default_factory=list)
    servers: list[Endpoint] = field(default_factory=list)
    clients: list[Endpoint] = field(default_factory=list)


@dataclass
class TopicEntry:
    """A topic, or a service: its clients are the publishers, its servers the subscriptions."""

    name: str
    types: set[str] = field(default_factory=set)
    publishers: list[Endpoint] = field(default_factory=list)
    subscriptions: list[Endpoint] = field(default_factory=list)

    def common_qos(self, depth: int) -> QoS:
        """The strongest QoS that all publishers offer, so that a subscription matches them all."""
        offers = [publisher.qos for publisher in self.publishers]
        return QoS(
            reliable=all(offer.reliable for offer in offers),
            latched=all(offer.latched for offer in offers),
            depth=depth,
        )


class Graph:
    """A live view: every query returns what discovery knows at that moment."""

    def __init__(self, context: Context) -> None:
        self._transport = context.transport
        spec = presence_spec()
        self._reader = self._transport.reader(replace(spec, qos=replace(spec.qos, depth=0)))
        self._by_participant: dict[bytes, Any] = {}

    def settle(self, at_least_s: float = 0.6, at_most_s: float = 2.0) -> None:
        """Waits until discovery has found nothing new for 0.3 s, within the given bounds."""
        start = changed = time.monotonic()
        known: Any = None
        while True:
            now = time.monotonic()
            seen = (len(self._transport.endpoints()), len(self._presence()))
            if seen != known:
                known, changed = seen, now
            steady = now - changed > _STEADY_S and now - start > at_least_s
            if steady or now - start > at_most_s:
                return
            time.sleep(_POLL_S)

    def nodes(self, hidden: bool = False) -> list[NodeEntry]:
        """All nodes by name; hidden ones start with an underscore."""
        found: dict[str, NodeEntry] = {}
        endpoints, owners = self._joined()
        for name in owners.values():
            found.setdefault(name, NodeEntry(name))
        for remote in endpoints:
            entry = found.get(owners.get(remote.guid, ""))
            if entry is not None:
                self._sort_in(entry, remote, entry.full_name)
        for name in self._names():
            found.setdefault(name, NodeEntry(name))
        shown = [n for n in found.values() if hidden or "/_" not in n.full_name]
        return sorted(shown, key=lambda node: node.full_name)

    def places(self) -> dict[str, str]:
        """Host and process of nodes, by full name, as far as their participants report them."""
        hosts = self._transport.participants()
        found = {}
        for info in self._alive(self._transport.endpoints()):
            place = hosts.get(bytes(info.gid.data)[:12])
            for node in info.node_entities_info_seq:
                if place:
                    found[names.full_name(node.node_name, node.node_namespace)] = place
        return found

    def topics(self) -> list[TopicEntry]:
        """All topics by name."""
        return self._entries(names.topic_of_wire, "")

    def services(self) -> list[TopicEntry]:
        """All services that have servers, by name."""
        entries = self._entries(
            lambda wire: names.service_of_wire(wire) if wire.startswith("rq/") else None, "_Request"
        )
        return [entry for entry in entries if entry.subscriptions]

    def _entries(self, name_of: Any, suffix: str) -> list[TopicEntry]:
        found: dict[str, TopicEntry] = {}
        endpoints, owners = self._joined()
        for remote in endpoints:
            name, kind = name_of(remote.topic), types.ros_type_name(remote.type_name)
            if name is None or kind is None:
                continue
            entry = found.setdefault(name, TopicEntry(name))
            kind = kind.removesuffix(suffix)
            entry.types.add(kind)
            side = entry.publishers if remote.is_writer else entry.subscriptions
            side.append(_endpoint(remote, name, kind, owners.get(remote.guid, "")))
        return sorted(found.values(), key=lambda entry: entry.name)

    def _sort_in(self, entry: NodeEntry, remote: RemoteEndpoint, node: str) -> None:
        kind = types.ros_type_name(remote.type_name)
        topic, service = names.topic_of_wire(remote.topic), names.service_of_wire(remote.topic)
        if kind is None:
            return
        if topic is not None:
            side = entry.publishers if remote.is_writer else entry.subscriptions
            side.append(_endpoint(remote, topic, kind, node))
        elif service is not None and remote.topic.startswith("rq/"):
            side = entry.clients if remote.is_writer else entry.servers
            side.append(_endpoint(remote, service, kind.removesuffix("_Request"), node))

    def _joined(self) -> tuple[list[RemoteEndpoint], dict[bytes, str]]:
        """All endpoints, and the node name of each endpoint GUID."""
        endpoints = list(self._transport.endpoints())
        owners = {}
        for info in self._alive(endpoints):
            for node in info.node_entities_info_seq:
                name = names.full_name(node.node_name, node.node_namespace)
                for gid in (*node.reader_gid_seq, *node.writer_gid_seq):
                    owners[bytes(gid.data)] = name
        return endpoints, owners

    def _names(self) -> Iterable[str]:
        for info in self._alive(self._transport.endpoints()):
            for node in info.node_entities_info_seq:
                yield names.full_name(node.node_name, node.node_namespace)

    def _alive(self, endpoints: Iterable[RemoteEndpoint]) -> list[Any]:
        """Announcements of the participants that are still present."""
        there = {remote.participant[:12] for remote in endpoints}
        return [info for gid, info in self._presence().items() if gid[:12] in there]

    def _presence(self) -> dict[bytes, Any]:
        while samples := self._reader.take():
            for sample in samples:
                try:
                    info: Any = types.decode(TYPE, sample.payload)
                except CorruptMessage:
                    continue
                self._by_participant[bytes(info.gid.data)] = info
        return self._by_participant

    def close(self) -> None:
        """Closes the reader of node announcements."""
        self._reader.close()


def _endpoint(remote: RemoteEndpoint, name: str, kind: str, node: str) -> Endpoint:
    return Endpoint(name, kind, node, remote.qos, remote.guid)
