"""CodeWriter: the lines of a function that is being generated, and the names that they use."""

from __future__ import annotations

from typing import Any


class CodeWriter:
    """Keeps count of variables and of how deep the lines stand."""

    def __init__(self, **scope: Any) -> None:
        """`scope`: what the function may call by name."""
        self.lines: list[str] = []
        self.scope = scope
        self.depth = 1
        self._count = 0

    def name(self, prefix: str) -> str:
        """A variable that is not used yet."""
        self._count += 1
        return f"{prefix}{self._count}"

    def emit(self, line: str) -> None:
        """Adds a line."""
        self.lines.append("    " * self.depth + line)

    def constant(self, prefix: str, value: Any) -> str:
        """The name by which the function finds a value."""
        name = self.name(prefix)
        self.scope[name] = value
        return name
