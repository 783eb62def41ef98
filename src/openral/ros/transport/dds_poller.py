"""DdsPoller: waits for many readers in one C call that releases the GIL."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable
from typing import Any, cast

from cyclonedds.core import DDSStatus, GuardCondition, ReadCondition, WaitSet
from cyclonedds.domain import DomainParticipant
from cyclonedds.internal import DDS

from openral.errors import TransportError
from openral.ros.transport.dds_domain import delete
from openral.ros.transport.dds_endpoints import ANY_STATE, DdsReader
from openral.ros.transport.transport import Reader

_MAX_READY = 64
_WAKE = 0

_library = DDS._dll_handle
_wait = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64
)(("dds_waitset_wait", _library))
_attach = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_int32, ctypes.c_ssize_t)(
    ("dds_waitset_attach", _library)
)


class DdsPoller:
    """Implements `transport.Poller` on a DDS wait set."""

    def __init__(self, participant: DomainParticipant) -> None:
        self._waitset = WaitSet(participant)
        self._guard = GuardCondition(participant)
        self._ready: dict[int, Callable[[], None]] = {}
        self._conditions: dict[DdsReader, tuple[ReadCondition, list[int]]] = {}
        self._tokens = itertools.count(_WAKE + 1)
        self._found = (ctypes.c_ssize_t * _MAX_READY)()
        self._address = ctypes.addressof(self._found)
        self._lock = threading.Lock()
        self._closed = False
        _attach(self._waitset._ref, self._guard._ref, _WAKE)

    def add(self, reader: Reader, ready: Callable[[], None], on_match: bool = False) -> None:
        """See `transport.Poller`."""
        mine = cast(DdsReader, reader)
        condition = ReadCondition(mine.entity, ANY_STATE)
        with self._lock:
            tokens = [self._register(condition, ready)]
            if on_match:
                mine.entity.set_status_mask(DDSStatus.SubscriptionMatched)
                tokens.append(self._register(mine.entity, _after_match(mine, ready)))
            self._conditions[mine] = (condition, tokens)
        self.wake()

    def _register(self, entity: Any, ready: Callable[[], None]) -> int:
        token = next(self._tokens)
        self._ready[token] = ready
        _attach(self._waitset._ref, entity._ref, token)
        return token

    def remove(self, reader: Reader) -> None:
        """See `transport.Poller`."""
        with self._lock:
            condition, tokens = self._conditions.pop(cast(DdsReader, reader), (None, []))
            for token in tokens:
                self._ready.pop(token, None)
            if condition is not None:
                delete(condition)

    def wake(self) -> None:
        """See `transport.Poller`."""
        if not self._closed:
            self._guard.set(True)

    def wait(self, timeout_s: float) -> list[Callable[[], None]]:
        """See `transport.Poller`."""
        count = _wait(self._waitset._ref, self._address, _MAX_READY, max(0, int(timeout_s * 1e9)))
        if count < 0:
            raise TransportError("the graph was left while waiting for it")
        due = []
        for token in self._found[: min(count, _MAX_READY)]:
            if token == _WAKE:
                self._guard.take()
            elif ready := self._ready.get(token):
                due.append(ready)
        return due

    def close(self) -> None:
        """See `transport.Poller`."""
        self._closed = True
        with self._lock:
            for condition, _ in self._conditions.values():
                delete(condition)
            self._conditions.clear()
            self._ready.clear()
            delete(self._guard)
            delete(self._waitset)


def _after_match(reader: DdsReader, ready: Callable[[], None]) -> Callable[[], None]:
    """Clears the status that caused the wake-up, which would otherwise repeat forever."""

    def acknowledge() -> None:
        entity: Any = reader.entity
        entity.get_subscription_matched_status()
        ready()

    return acknowledge
