"""Somebody on the bus who means harm: floods, lies about time and repeats what others said."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from openral.ros.node.context import Context
from openral.ros.node.node import Node
from openral.ros.transport.dds_config import Network
from tests.ros.conftest import wait_until


class Hostile:
    """A participant of its own; use it in a `with`."""

    def __init__(self, domain: int) -> None:
        self.context = Context(Network(domain))
        self.node = Node("hostile", context=self.context)
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self.sent = 0

    def publisher(self, kind: str, topic: str, qos: Any) -> Any:
        made = self.node.create_publisher(kind, topic, qos)
        wait_until(lambda: made.has_subscribers)
        return made

    def keep_doing(self, act: Callable[[], None], hertz: float, burst: int = 1) -> None:
        """Calls it so often, on a thread of its own, until the end."""

        def work() -> None:
            began = time.monotonic()
            while not self._over.is_set():
                for _ in range(burst):
                    act()
                self.sent += burst
                self._over.wait(max(0.0, began + self.sent / hertz - time.monotonic()))

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def __enter__(self) -> Hostile:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self.context.close()
