"""Runs calls of other threads on the one thread that owns a simulation."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar

from openral.errors import TransportError

T = TypeVar("T")


Jobs = queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]]


class OwnerThread:
    """`call` runs a job on the owner's thread, between two steps; on that thread itself at once.

    `look` is for slow jobs such as rendering: one between two steps, after all calls.
    """

    def __init__(self) -> None:
        self._owner: int | None = None
        self._calls: Jobs = queue.SimpleQueue()
        self._looks: Jobs = queue.SimpleQueue()
        self._arrived = threading.Event()

    def own(self) -> None:
        """Makes the calling thread the owner."""
        self._owner = threading.get_ident()

    @property
    def mine(self) -> bool:
        """Whether the calling thread is the owner."""
        return self._owner == threading.get_ident()

    def call(self, job: Callable[[], T], timeout_s: float = 5.0) -> T:
        """The job's result, or its exception; TransportError when the owner does not serve."""
        return self._ask(self._calls, job, timeout_s)

    def look(self, job: Callable[[], T], timeout_s: float = 30.0) -> T:
        """Like `call`, with lower priority."""
        return self._ask(self._looks, job, timeout_s)

    def _ask(self, jobs: Jobs, job: Callable[[], T], timeout_s: float) -> T:
        if self.mine:
            return job()
        future: Future[T] = Future()
        jobs.put((job, future))
        self._arrived.set()
        try:
            return future.result(timeout_s)
        except FutureTimeout:
            future.cancel()
            raise TransportError(
                f"the simulation's thread did not answer within {timeout_s:g} s; is it running?"
            ) from None

    def serve(self) -> None:
        """Runs all waiting calls, then one look; on the owner's thread."""
        self._arrived.clear()
        while not self._calls.empty():
            _do(*self._calls.get())
        if not self._looks.empty():
            _do(*self._looks.get())
        if not self._looks.empty():
            self._arrived.set()

    def wait(self, timeout_s: float) -> None:
        """Sleeps until a job arrives or time is up."""
        self._arrived.wait(timeout_s)

    def wake(self) -> None:
        """Ends a `wait`."""
        self._arrived.set()


def _do(job: Callable[[], Any], future: Future[Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(job())
    except BaseException as error:
        future.set_exception(error)
