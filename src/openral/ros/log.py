"""Structured logging with the node's name, to stderr and to /rosout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openral.log import logger

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "fatal": 50}
"""Severities of rcl_interfaces/msg/Log."""


class NodeLogger:
    """`node.log.info("text", key=value)`; the node's name is part of every line."""

    def __init__(self, name: str, sink: Callable[[int, str], None] | None = None) -> None:
        self._name = name
        self._logger: Any = None
        self._once: set[object] = set()
        self.sink = sink

    def _emit(self, level: str, text: str, values: dict[str, Any]) -> None:
        once = values.pop("once", None)
        if once is not None:
            if once in self._once:
                return
            self._once.add(once)
        if self._logger is None:
            self._logger = logger(node=self._name)
        getattr(self._logger, "critical" if level == "fatal" else level)(text, **values)
        if self.sink is not None and level != "debug":
            shown = {k: v for k, v in values.items() if k != "exc_info"}
            self.sink(LEVELS[level], " ".join([text, *(f"{k}={v}" for k, v in shown.items())]))

    def debug(self, text: str, **values: Any) -> None:
        """For developers; never on /rosout. With `once=KEY` (all levels) a key is logged once."""
        self._emit("debug", text, values)

    def info(self, text: str, **values: Any) -> None:
        """Something worth knowing."""
        self._emit("info", text, values)

    def warning(self, text: str, **values: Any) -> None:
        """Something is wrong, but the node can continue."""
        self._emit("warning", text, values)

    def error(self, text: str, **values: Any) -> None:
        """Something failed."""
        self._emit("error", text, values)

    def fatal(self, text: str, **values: Any) -> None:
        """The node cannot continue."""
        self._emit("fatal", text, values)

    def exception(self, text: str, **values: Any) -> None:
        """An error with the traceback of the exception being handled."""
        self._emit("error", text, {**values, "exc_info": True})

    warn = warning
