"""Announces this participant's nodes and their endpoints on ros_discovery_info, as ROS 2 does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from openral.ros import msg
from openral.ros.codec import types
from openral.ros.qos import GRAPH
from openral.ros.transport.transport import EndpointSpec, Transport

TOPIC = "ros_discovery_info"
TYPE = "rmw_dds_common/msg/ParticipantEntitiesInfo"
# ROS hashes an internal form of this type, which no .msg text yields.
_HASH = "RIHS01_91a0593bacdcc50ea9bdcf849a938b128412cc1ea821245c663bcd26f83c295e"


def presence_spec() -> EndpointSpec:
    """The endpoint on which participants announce their nodes."""
    return EndpointSpec(TOPIC, types.dds_type_name(TYPE), GRAPH, f"typehash={_HASH};".encode())


class PresentNode(Protocol):
    """A node, as the graph is told of it."""

    name: str
    namespace: str

    def endpoint_guids(self) -> tuple[list[bytes], list[bytes]]:
        """Readers and writers that belong to the node."""


class Presence:
    """Republishes the list of nodes whenever it changes."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._writer = transport.writer(presence_spec())
        self._nodes: list[PresentNode] = []
        self._lock = threading.RLock()
        self._held = 0

    def add(self, node: PresentNode) -> None:
        """Adds a node and announces it."""
        with self._lock:
            self._nodes.append(node)
        self.announce()

    def remove(self, node: PresentNode) -> None:
        """Removes a node and announces that."""
        with self._lock:
            self._nodes = [n for n in self._nodes if n is not node]
        self.announce()

    @contextmanager
    def batch_announcements(self) -> Iterator[None]:
        """Batches the changes made inside the block into one announcement at its end."""
        with self._lock:
            self._held += 1
            try:
                yield
            finally:
                self._held -= 1
        self.announce()

    def announce(self) -> None:
        """Publishes the current list of nodes."""
        with self._lock:
            if self._held:
                return
            message = msg.ParticipantEntitiesInfo(
                gid=_gid(self._transport.guid),
                node_entities_info_seq=[_describe(node) for node in self._nodes],
            )
            self._writer.write(types.encode(message))


def _describe(node: PresentNode) -> msg.NodeEntitiesInfo:
    readers, writers = node.endpoint_guids()
    return msg.NodeEntitiesInfo(
        node_namespace=node.namespace,
        node_name=node.name,
        reader_gid_seq=[_gid(guid) for guid in readers],
        writer_gid_seq=[_gid(guid) for guid in writers],
    )


def _gid(guid: bytes) -> msg.Gid:
    return msg.Gid(data=np.frombuffer(guid, np.uint8))
