"""In-process transport: no wire, no threads, nothing that depends on timing."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import cast

from openral.errors import TransportError
from openral.ros.transport.transport import EndpointSpec, Reader, RemoteEndpoint, Sample

_PARTICIPANT = b"openral-mem\0" + bytes(4)


class MemoryWriter:
    """Implements `transport.Writer`."""

    def __init__(self, transport: MemoryTransport, spec: EndpointSpec, number: int) -> None:
        self.spec, self.number = spec, number
        self.guid = number.to_bytes(16, "big")
        self.kept: deque[bytes] = deque(maxlen=spec.qos.depth if spec.qos.latched else 0)
        self._transport = transport

    def write(self, payload: bytes) -> None:
        """Delivers the payload to every matched reader."""
        self.kept.append(payload)
        for reader in self._transport.readers_of(self):
            reader.deliver(self, payload)

    def matched(self) -> int:
        """See `transport.Writer`."""
        return len(self._transport.readers_of(self))

    def reaches(self, user_data_tag: bytes, participant: bytes) -> bool:
        """See `transport.Writer`."""
        readers = self._transport.readers_of(self)
        return any(not user_data_tag or user_data_tag in r.spec.user_data for r in readers)

    def close(self) -> None:
        """See `transport.Writer`."""
        self._transport.leave(self)


class MemoryReader:
    """Implements `transport.Reader`."""

    def __init__(self, transport: MemoryTransport, spec: EndpointSpec, number: int) -> None:
        self.spec = spec
        self.guid = number.to_bytes(16, "big")
        self._transport = transport
        self._samples: deque[Sample] = deque(maxlen=spec.qos.depth or None)
        self.notify: list[Callable[[], None]] = []
        """Called when a payload has arrived."""
        self.notify_match: list[Callable[[], None]] = []

    def deliver(self, writer: MemoryWriter, payload: bytes) -> None:
        """Queues a payload and notifies pollers."""
        self._samples.append(Sample(payload, writer.number, 0))
        for call in self.notify:
            call()

    @property
    def waiting(self) -> bool:
        """Whether payloads are queued."""
        return bool(self._samples)

    def take(self) -> list[Sample]:
        """See `transport.Reader`."""
        taken = []
        while self._samples:
            taken.append(self._samples.popleft())
        return taken

    def matched(self) -> int:
        """See `transport.Reader`."""
        return len(self._transport.writers_of(self))

    def sources(self) -> frozenset[int]:
        """See `transport.Reader`."""
        return frozenset(writer.number for writer in self._transport.writers_of(self))

    def incompatible(self) -> str:
        """See `transport.Reader`."""
        return ""

    def peer(self, source: int) -> RemoteEndpoint | None:
        """See `transport.Reader`."""
        for writer in self._transport.writers_of(self):
            if writer.number == source:
                return _endpoint(writer, is_writer=True)
        return None

    def close(self) -> None:
        """See `transport.Reader`."""
        self._transport.leave(self)


class MemoryPoller:
    """Implements `transport.Poller`; readers become ready in order of arrival."""

    def __init__(self) -> None:
        self._readers: dict[MemoryReader, Callable[[], None]] = {}
        self._news: dict[MemoryReader, Callable[[], None]] = {}
        """The notification callback registered with each reader."""
        self._ready: dict[MemoryReader, None] = {}
        self._condition = threading.Condition()
        self._woken = self._closed = False

    def add(self, reader: Reader, ready: Callable[[], None], on_match: bool = False) -> None:
        """See `transport.Poller`."""
        mine = cast(MemoryReader, reader)
        news = partial(self._note, mine)
        self._readers[mine], self._news[mine] = ready, news
        mine.notify.append(news)
        if on_match:
            mine.notify_match.append(news)
        if on_match or mine.waiting:
            news()
        self.wake()

    def remove(self, reader: Reader) -> None:
        """See `transport.Poller`."""
        mine = cast(MemoryReader, reader)
        with self._condition:
            self._readers.pop(mine, None)
            self._ready.pop(mine, None)
            news = self._news.pop(mine, None)
        for listeners in (mine.notify, mine.notify_match):
            if news in listeners:
                listeners.remove(news)

    def _note(self, reader: MemoryReader) -> None:
        with self._condition:
            self._ready[reader] = None
            self._woken = True
            self._condition.notify_all()

    def wake(self) -> None:
        """See `transport.Poller`."""
        with self._condition:
            self._woken = True
            self._condition.notify_all()

    def wait(self, timeout_s: float) -> list[Callable[[], None]]:
        """See `transport.Poller`."""
        with self._condition:
            if timeout_s > 0 and not self._woken:
                self._condition.wait_for(lambda: self._woken or self._closed, timeout_s)
            if self._closed:
                raise TransportError("the graph was left while waiting for it")
            self._woken = False
            ready, self._ready = self._ready, {}
            return [self._readers[reader] for reader in ready if reader in self._readers]

    def close(self) -> None:
        """See `transport.Poller`."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()


class MemoryTransport:
    """Implements `transport.Transport` for `Context(transport=MemoryTransport())`."""

    guid = _PARTICIPANT
    domain = -1

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._writers: dict[str, list[MemoryWriter]] = {}
        self._readers: dict[str, list[MemoryReader]] = {}
        self._numbers = itertools.count(1)

    def writer(self, spec: EndpointSpec) -> MemoryWriter:
        """See `transport.Transport`."""
        with self._lock:
            made = MemoryWriter(self, spec, next(self._numbers))
            self._writers.setdefault(spec.topic, []).append(made)
            matched = self.readers_of(made)
        for reader in matched:
            _tell_match(reader)
        return made

    def reader(self, spec: EndpointSpec) -> MemoryReader:
        """See `transport.Transport`."""
        with self._lock:
            made = MemoryReader(self, spec, next(self._numbers))
            self._readers.setdefault(spec.topic, []).append(made)
            if spec.qos.latched:
                for writer in self.writers_of(made):
                    for payload in writer.kept:
                        made.deliver(writer, payload)
        return made

    def poller(self) -> MemoryPoller:
        """See `transport.Transport`."""
        return MemoryPoller()

    def readers_of(self, writer: MemoryWriter) -> list[MemoryReader]:
        """Readers matched with a writer."""
        with self._lock:
            there = self._readers.get(writer.spec.topic, [])
            return [reader for reader in there if _match(reader, writer)]

    def writers_of(self, reader: MemoryReader) -> list[MemoryWriter]:
        """Writers matched with a reader."""
        with self._lock:
            there = self._writers.get(reader.spec.topic, [])
            return [writer for writer in there if _match(reader, writer)]

    def leave(self, endpoint: MemoryWriter | MemoryReader) -> None:
        """Removes an endpoint; idempotent."""
        topic = endpoint.spec.topic
        with self._lock:
            if isinstance(endpoint, MemoryReader):
                there = [r for r in self._readers.get(topic, []) if r is not endpoint]
                self._readers[topic] = there
                return
            matched = self.readers_of(endpoint)
            self._writers[topic] = [w for w in self._writers.get(topic, []) if w is not endpoint]
        for reader in matched:
            _tell_match(reader)

    def endpoints(self) -> list[RemoteEndpoint]:
        """See `transport.Transport`."""
        with self._lock:
            writers = [_endpoint(w, True) for there in self._writers.values() for w in there]
            readers = [_endpoint(r, False) for there in self._readers.values() for r in there]
        return writers + readers

    def participants(self) -> dict[bytes, str]:
        """See `transport.Transport`."""
        return {}

    def close(self) -> None:
        """See `transport.Transport`."""
        with self._lock:
            self._writers.clear()
            self._readers.clear()


def _match(reader: MemoryReader, writer: MemoryWriter) -> bool:
    return reader.spec.hears_own_process and reader.spec.qos.accepts(writer.spec.qos)


def _tell_match(reader: MemoryReader) -> None:
    for call in list(reader.notify_match):
        call()


def _endpoint(endpoint: MemoryWriter | MemoryReader, is_writer: bool) -> RemoteEndpoint:
    spec = endpoint.spec
    return RemoteEndpoint(
        guid=endpoint.guid,
        participant=_PARTICIPANT,
        topic=spec.topic,
        type_name=spec.type_name,
        qos=spec.qos,
        user_data=spec.user_data,
        is_writer=is_writer,
    )
