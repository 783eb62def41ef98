from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openral.ros.node.context import Context
from openral.ros.node.executor import Executor
from openral.ros.node.node import Node
from openral.ros.transport.dds_config import Network

GOLDEN = Path(__file__).parent / "golden"
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="session")
def services() -> Any:
    return json.loads((GOLDEN / "services_jazzy.json").read_text())


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def inheriting(disposition: signal.Handlers, blocked: bool = False) -> Iterator[None]:
    """Programs that start within inherit these signals as they are under `nohup` or in a script.

    This process gets its own back at the end, also if a test fails.
    """
    before = {number: signal.signal(number, disposition) for number in ENDING}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK if blocked else signal.SIG_UNBLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _lend_domain() -> Iterator[int]:
    """A DDS domain that no other test process on this machine uses."""
    for domain in range(1, 70):
        path = Path(tempfile.gettempdir()) / f"openral-test-domain-{domain}"
        with path.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield domain
            return
    raise RuntimeError("all test domains are in use")


@pytest.fixture(scope="session")
def domain() -> Iterator[int]:
    yield from _lend_domain()


@pytest.fixture(scope="session")
def other_domain(domain: int) -> Iterator[int]:
    yield from _lend_domain()


def wait_until(condition: Callable[[], Any], timeout_s: float = 20.0) -> Any:
    """Waits for a condition, generously: the machine may be busy."""
    give_up = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < give_up, "waited too long"
        time.sleep(0.01)
    return value


@pytest.fixture
def until() -> Callable[..., Any]:
    return wait_until


class Graph:
    """Makes nodes that run in the background; `apart` ones share nothing but the wire."""

    def __init__(self, domain: int) -> None:
        self.domain = domain
        self._contexts: list[Context] = []
        self._executors: list[Executor] = []
        self._processes: list[subprocess.Popen[str]] = []
        self._shared = self.context()

    def context(self, domain: int | None = None) -> Context:
        context = Context(Network(self.domain if domain is None else domain))
        self._contexts.append(context)
        return context

    def node(
        self,
        name: str = "node",
        *,
        apart: bool = False,
        kind: type[Any] = Node,
        domain: int | None = None,
        **options: Any,
    ) -> Any:
        context = self.context(domain) if apart else self._shared
        node = kind(name, context=context, **options)
        self.run(node)
        return node

    def run(self, node: Node) -> Executor:
        executor = Executor(node.context)
        executor.add_node(node)
        executor.start()
        self._executors.append(executor)
        return executor

    def program(self, name: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(PROGRAMS / name), *arguments],
            env={**os.environ, "OPENRAL_DOMAIN": str(self.domain), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._processes.append(process)
        return process

    def close(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for executor in self._executors:
            executor.shutdown()
        for context in self._contexts:
            context.close()


@pytest.fixture
def graph(domain: int) -> Iterator[Graph]:
    made = Graph(domain)
    yield made
    made.close()
