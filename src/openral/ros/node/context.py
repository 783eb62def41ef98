"""Context: what nodes of a process share, i.e. one DDS participant, local bus and I/O thread."""

from __future__ import annotations

import atexit
import threading
from types import TracebackType
from typing import Protocol

from openral.ros.node.local_bus import LocalBus
from openral.ros.node.loop import Loop
from openral.ros.node.presence import Presence, PresentNode
from openral.ros.transport.dds_config import Network
from openral.ros.transport.transport import Transport


class Member(PresentNode, Protocol):
    """A node, as its context sees it."""

    def destroy(self) -> None:
        """Leaves the graph; idempotent."""


class Context:
    """Joins the graph; use as `with Context() as context:` or call `close`."""

    def __init__(self, network: Network | None = None, transport: Transport | None = None) -> None:
        if transport is None:
            from openral.ros.transport.dds_transport import DdsTransport

            transport = DdsTransport(network)
        self.transport = transport
        self.bus = LocalBus()
        self.presence = Presence(transport)
        self.nodes: list[Member] = []
        self._io: Loop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.closed = False

    @property
    def io(self) -> Loop:
        """The loop for service replies and /clock, on its own thread, started on first use."""
        with self._lock:
            if self._io is None:
                self._io = Loop(self.transport.poller())
                self._thread = threading.Thread(
                    target=self._io.run_until_stopped, name="openral-ros-io", daemon=True
                )
                self._thread.start()
            return self._io

    def close(self) -> None:
        """Destroys the nodes and leaves the graph; idempotent."""
        if self.closed:
            return
        self.closed = True
        with self.presence.batch_announcements():
            for node in list(self.nodes):
                node.destroy()
        if self._io is not None and self._thread is not None:
            self._io.stop()
            self._thread.join()
            self._io.close()
        self.transport.close()

    def __enter__(self) -> Context:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


_default: Context | None = None
_default_lock = threading.Lock()


def default_context() -> Context:
    """The context of nodes that are given none; it closes at process exit."""
    global _default  # noqa: PLW0603 - one per process is the point
    with _default_lock:
        if _default is None or _default.closed:
            _default = Context()
            atexit.register(_default.close)
        return _default
