"""CodeWriter: collects the source lines of a generated function and the names they use."""

from __future__ import annotations

from typing import Any


class CodeWriter:
    """Tracks generated lines, indentation depth and unique variable names."""

    def __init__(self, **scope: Any) -> None:
        """`scope`: the globals of the generated function."""
        self.lines: list[str] = []
        self.scope = scope
        self.depth = 1
        self._count = 0

    def name(self, prefix: str) -> str:
        """A fresh variable name."""
        self._count += 1
        return f"{prefix}{self._count}"

    def emit(self, line: str) -> None:
        """Appends a line at the current depth."""
        self.lines.append("    " * self.depth + line)

    def constant(self, prefix: str, value: Any) -> str:
        """Adds a value to the function's globals and return its name."""
        name = self.name(prefix)
        self.scope[name] = value
        return name
