"""Span: what a traced block may say about itself."""

from __future__ import annotations

Attribute = str | bool | int | float


class Span:
    """A span inside its block; this base class, used when nothing is exported, does nothing."""

    def set(self, **attributes: Attribute) -> None:
        """Adds attributes to the span."""
