"""Span: what a traced block may say about itself."""

from __future__ import annotations

Attribute = str | bool | int | float


class Span:
    """What a span's block may say about it; of one that is not exported it is forgotten."""

    def set(self, **attributes: Attribute) -> None:
        """Adds attributes."""
