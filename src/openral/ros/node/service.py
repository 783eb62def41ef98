"""Service servers: receive requests, run the handler and send the responses."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from openral.errors import CorruptMessage, OpenralError
from openral.ros.codec import types
from openral.ros.codec.types import Message
from openral.ros.node import service_wire
from openral.ros.node.faults import Faults
from openral.ros.node.loop import Loop
from openral.ros.node.owner import Owner
from openral.ros.transport.transport import Sample

Handler = Callable[[Any, Any], Any]
"""(request, response to fill) → response, or a Future of a response that comes later."""

_MATCH_RETRY_S = 0.01
_MAX_CLIENTS = 1024
_MATCH_LIMIT_S = 2.0
_FOREIGN = "no request id in the payload (rmw_fastrtps?); set RMW_IMPLEMENTATION=rmw_cyclonedds_cpp"


class Service:
    """Created by `Node.create_service`; the handler runs in the node's executor."""

    def __init__(self, node: Owner, type_name: str, name: str, handler: Handler) -> None:
        self.node = node
        self.name = name
        self.type_name = type_name
        self._request = f"{type_name}_Request"
        self._response = types.message_class(f"{type_name}_Response")
        self._handler = handler
        self.faults = Faults(node.log, name)
        specs = service_wire.service_specs(
            node.context.transport.guid, name, type_name, "serviceid"
        )
        self._writer = node.context.transport.writer(specs.reply)
        self._reader = node.context.transport.reader(specs.request)
        self.reader_guid, self.writer_guid = self._reader.guid, self._writer.guid
        self._loop: Loop | None = None
        self._clients: dict[int, tuple[bytes, bytes] | None] = {}
        """By writer: a client's tag and participant; None for one that cannot be answered."""
        self._reachable: set[int] = set()
        self._closed = False

    def attach(self, loop: Loop) -> None:
        """Handles requests in this loop from now on."""
        self._loop = loop
        loop.add_reader(self._reader, self._on_data)

    def detach(self) -> None:
        """Leaves the loop; requests stay queued."""
        if self._loop is not None:
            self._loop.remove_reader(self._reader)
            self._loop = None

    def _on_data(self) -> None:
        for sample in self._reader.take():
            header = service_wire.request_id(sample.payload)
            if header is None or self._client_of(sample) is None:
                self.faults.add(self._reader, sample.source, _FOREIGN)
                continue
            try:
                request = types.decode(self._request, sample.payload, service_wire.HEADER)
            except CorruptMessage as error:
                self.faults.add(self._reader, sample.source, str(error))
                continue
            self._handle(request, header, sample.source)

    def _client_of(self, sample: Sample) -> tuple[bytes, bytes] | None:
        """Tag and participant of the caller; None for a peer that advertises no client id.

        Such a peer carries its request ids outside the payload.
        """
        if sample.source not in self._clients:
            peer = self._reader.peer(sample.source)
            if peer is None:
                return b"", b""
            if len(self._clients) >= _MAX_CLIENTS:  # many of which have left
                self._clients.clear()
                self._reachable.clear()
            tag = service_wire.find_tag(peer.user_data, "clientid")
            self._clients[sample.source] = (tag, peer.participant) if tag else None
        return self._clients[sample.source]

    def _handle(self, request: Message, header: bytes, source: int) -> None:
        answered: list[Any] = []
        self.node.run_callback(lambda _: answered.append(self._answer(request)), request)
        if not answered:
            return
        if isinstance(answered[0], Future):
            answered[0].add_done_callback(lambda done: self._finish(done, header, source))
        else:
            self._reply(answered[0], header, source)

    def _answer(self, request: Message) -> Any:
        return self._handler(request, self._response())

    def _finish(self, done: Future[Any], header: bytes, source: int) -> None:
        if done.cancelled():
            return
        if error := done.exception():
            self.node.log.error("service failed", service=self.name, error=repr(error))
            return
        self._reply(done.result(), header, source)

    def _reply(self, response: Any, header: bytes, source: int) -> None:
        if not isinstance(response, self._response):
            self.node.log.error(
                "service gave no answer",
                service=self.name,
                got=repr(response),
                type=self.type_name,
            )
            return
        self._send(types.encode(response, header), source, time.monotonic() + _MATCH_LIMIT_S)

    def _send(self, payload: bytes, source: int, give_up: float) -> None:
        """Sends a response; waits until discovery has found the reply reader of the client."""
        if self._closed:
            return
        if self._can_reach(source) or time.monotonic() > give_up:
            try:
                self._writer.write(payload)
            except OpenralError as error:
                self.node.log.error("answer lost", service=self.name, error=str(error))
        else:
            self.node.context.io.call_later(
                _MATCH_RETRY_S, lambda: self._send(payload, source, give_up)
            )

    def _can_reach(self, source: int) -> bool:
        client = self._clients.get(source)
        if client is None or source in self._reachable:
            return True
        if self._writer.reaches(*client):
            self._reachable.add(source)
            return True
        return False

    def close(self) -> None:
        """Leaves the graph; idempotent. Pending requests stay unanswered."""
        self._closed = True
        self.detach()
        self._reader.close()
        self._writer.close()
