"""Service clients. Responses arrive on the context's I/O thread, so any thread may wait for one."""

from __future__ import annotations

import itertools
import secrets
import struct
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from openral.errors import (
    ConfigError,
    CorruptMessage,
    ServerGone,
    ServiceTimeout,
    ServiceUnavailable,
)
from openral.ros.codec import types
from openral.ros.codec.types import Message
from openral.ros.node import service_wire
from openral.ros.node.faults import Faults
from openral.ros.node.owner import Owner

_POLL_S = 0.005


class Client:
    """Created by `Node.create_client`."""

    def __init__(self, node: Owner, type_name: str, name: str) -> None:
        self.node = node
        self.name = name
        self.type_name = type_name
        self.request_class: Any = types.message_class(f"{type_name}_Request")
        self._response = f"{type_name}_Response"
        self.faults = Faults(node.log, name)
        self._id = secrets.token_bytes(8)
        self._sequence = itertools.count(1)
        self._pending: dict[int, tuple[Future[Any], frozenset[int]]] = {}
        self._servers: frozenset[int] = frozenset()
        """Servers matched at the last check."""
        self._lock = threading.Lock()
        specs = service_wire.service_specs(node.context.transport.guid, name, type_name, "clientid")
        self._reader = node.context.transport.reader(specs.reply)
        self._writer = node.context.transport.writer(specs.request)
        self.reader_guid, self.writer_guid = self._reader.guid, self._writer.guid
        node.context.io.add_reader(self._reader, self._on_data, on_match=True)

    def service_is_ready(self) -> bool:
        """Whether a server is matched in both directions, request and reply."""
        return self._writer.matched() > 0 and self._reader.matched() > 0

    def wait_for_service(self, timeout_s: float | None = None) -> bool:
        """Waits until a server is available; False after `timeout_s` of wall time."""
        give_up = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.service_is_ready():
            if give_up is not None and time.monotonic() >= give_up:
                return False
            time.sleep(_POLL_S)
        return True

    def call_async(self, request: Message) -> Future[Any]:
        """Sends the request; the future fails with ServerGone if its servers leave first."""
        if not isinstance(request, self.request_class):
            wanted = self.request_class.__ros_type__
            raise ConfigError(f"service '{self.name}' takes {wanted}, not {request!r}")
        future: Future[Any] = Future()
        if not self.service_is_ready():
            future.set_exception(ServiceUnavailable(f"no server for '{self.name}'"))
            return future
        number, servers = next(self._sequence), self._reader.sources()
        with self._lock:
            self._pending[number] = (future, servers)
            self._servers = servers  # so that their leaving counts as a change, however soon
        header = self._id + struct.pack("<q", number)
        try:
            self._writer.write(types.encode(request, header))
        except BaseException:
            self._take(number)
            raise
        if not self.service_is_ready():
            self._fail_if_gone()
        return future

    def call(self, request: Message, timeout_s: float = 5.0) -> Any:
        """Waits for a server and its response, both within `timeout_s` of wall time.

        Raises ServiceUnavailable, ServiceTimeout, or ServerGone if the server leaves meanwhile.
        """
        if self.node.context.io.in_loop_thread:
            raise ConfigError(f"'{self.name}' called from a reply callback would wait for itself")
        start = time.monotonic()
        if not self.wait_for_service(timeout_s):
            raise ServiceUnavailable(f"no server for '{self.name}' within {timeout_s:g} s")
        future = self.call_async(request)
        try:
            return future.result(max(0.0, timeout_s - (time.monotonic() - start)))
        except FutureTimeout:
            self._forget(future)
            raise ServiceTimeout(
                f"service '{self.name}' did not answer within {timeout_s:g} s; its server is alive"
            ) from None

    def _take(self, number: int) -> Future[Any] | None:
        with self._lock:
            return self._pending.pop(number, (None, frozenset()))[0]

    def _forget(self, future: Future[Any]) -> None:
        with self._lock:
            self._pending = {n: c for n, c in self._pending.items() if c[0] is not future}

    def _on_data(self) -> None:
        for sample in self._reader.take():
            header = service_wire.request_id(sample.payload)
            if header is None:
                self.faults.add(self._reader, sample.source, "reply without a request id")
                continue
            if header[:8] != self._id:
                continue  # meant for another client of the same service
            future = self._take(struct.unpack("<q", header[8:])[0])
            if future is None or not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(types.decode(self._response, sample.payload, service_wire.HEADER))
            except CorruptMessage as error:
                self.faults.add(self._reader, sample.source, str(error))
                future.set_exception(error)
        self._fail_if_gone()

    def _fail_if_gone(self) -> None:
        """Fails every pending call whose possible servers have all left."""
        there = self._reader.sources() if self._writer.matched() else frozenset()
        if there == self._servers:
            return
        with self._lock:
            self._servers = there
            lost = {n: future for n, (future, asked) in self._pending.items() if not asked & there}
            for number in lost:
                del self._pending[number]
        for future in lost.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(
                    ServerGone(f"the server of '{self.name}' went away before it answered")
                )

    def close(self) -> None:
        """Leaves the graph; pending calls fail."""
        self.node.context.io.remove_reader(self._reader)
        self._reader.close()
        self._writer.close()
        self._fail_if_gone()
