"""Executor: runs the callbacks of nodes on one thread until it is stopped or signalled."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from openral.errors import ConfigError
from openral.ros.node.context import Context, default_context
from openral.ros.node.loop import Loop
from openral.signals import ENDING

if TYPE_CHECKING:
    from openral.ros.node.node import Node

_SIGNAL_CHECK_S = 0.1
"""Longest wait in s: signal handlers run only between waits, as a wait is inside a C call."""


class Executor:
    """Spins nodes: `add_node`, then `spin`, or `start` for a background thread."""

    def __init__(self, context: Context | None = None) -> None:
        self.context = context or default_context()
        self._loop = Loop(self.context.transport.poller())
        self._nodes: list[Node] = []
        self._thread: threading.Thread | None = None

    def add_node(self, node: Node) -> None:
        """Adds a node, whose callbacks then run in this executor."""
        if node.context is not self.context:
            raise ConfigError(f"node '{node.full_name}' is of another context than the executor")
        if node not in self._nodes:
            self._nodes.append(node)
            node.attach(self._loop)

    def remove_node(self, node: Node) -> None:
        """Removes a node; its callbacks no longer run."""
        if node in self._nodes:
            self._nodes.remove(node)
            node.detach()

    def spin(self) -> None:
        """Runs until `shutdown` or, on the main thread, until SIGINT, SIGTERM or SIGHUP."""
        with self._signals_stop():
            while not self._loop.stopped and not self.context.closed:
                self._loop.run_once(_SIGNAL_CHECK_S)

    def spin_once(self, timeout_s: float = 0.0) -> None:
        """Runs what is due, waiting up to `timeout_s` for the first work item."""
        self._loop.run_once(timeout_s)

    def spin_until_idle(self) -> None:
        """Runs everything that is due, and whatever becomes due by it, without waiting."""
        while self._loop.run_once(0.0):
            pass

    def spin_until(self, future: Future[Any], timeout_s: float) -> bool:
        """Runs until a future is done; False after `timeout_s` or on `shutdown`."""
        future.add_done_callback(lambda _: self._loop.wake())
        give_up = time.monotonic() + timeout_s
        while not future.done() and not self._loop.stopped and time.monotonic() < give_up:
            self._loop.run_once(min(_SIGNAL_CHECK_S, max(0.0, give_up - time.monotonic())))
        return future.done()

    def start(self) -> None:
        """Spins on a background thread until `shutdown`."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._loop.run_until_stopped, name="openral-ros-executor", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Makes `spin` return soon, from any thread or callback; nodes stay attached."""
        self._loop.stop()

    def shutdown(self) -> None:
        """Stops spinning and removes the nodes; idempotent."""
        self._loop.stop()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        for node in list(self._nodes):
            self.remove_node(node)
        self._loop.close()

    @contextlib.contextmanager
    def _signals_stop(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous: dict[int, Any] = {int(number): signal.getsignal(number) for number in ENDING}

        def handle(number: int, frame: Any) -> None:
            self._loop.stop()
            # A second signal means that the user will not wait for the running callback.
            ignored = previous[number] in (None, signal.SIG_IGN)
            signal.signal(number, signal.SIG_DFL if ignored else previous[number])

        for number in ENDING:
            signal.signal(number, handle)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        try:
            yield
        finally:
            for restored, handler in previous.items():
                signal.signal(restored, handler or signal.SIG_DFL)


def spin(*nodes: Node) -> None:
    """Spins nodes until SIGINT, SIGTERM or SIGHUP, then destroys them: a program's last call."""
    executor = Executor(nodes[0].context)
    for node in nodes:
        executor.add_node(node)
    try:
        executor.spin()
    finally:
        executor.shutdown()
        for node in nodes:
            node.destroy()
