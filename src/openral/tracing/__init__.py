"""Spans of what happens to an action, exported over OTLP where an endpoint is set, else nothing.

Set OTEL_EXPORTER_OTLP_ENDPOINT and install the extra `otel`; without either, a span costs one `if`
and nothing is imported. All spans of an action carry its trace id, in whichever process they are.
"""

from __future__ import annotations

import importlib.util
import os
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from openral.tracing.span import Attribute as Attribute
from openral.tracing.span import Span as Span

if TYPE_CHECKING:
    from openral.tracing.exporter import SpanExporter

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"

_NOTHING = nullcontext(Span())
_exporter: SpanExporter | None = None


def enabled() -> bool:
    """Whether spans go anywhere."""
    return _exporter is not None


def span(
    name: str, trace_id: bytes | None = None, began_ns: int | None = None, **attributes: Attribute
) -> AbstractContextManager[Span]:
    """A span about the block; `began_ns` (wall time) lets it begin before the block.

    A trace id of 16 bytes, not all zero, makes it part of that action's trace.
    """
    if _exporter is None:
        return _NOTHING
    return _exporter.span(name, trace_id, began_ns, attributes)


def start(service: str) -> bool:
    """Begins to export under a service's name if an endpoint is set; says whether it does."""
    global _exporter  # noqa: PLW0603 - one process has one exporter
    if _exporter is None and os.environ.get(ENDPOINT):
        if importlib.util.find_spec("opentelemetry") is None:
            _say(f"{ENDPOINT} is set, but the extra 'otel' is not installed: no traces")
            return False
        from openral.tracing.exporter import SpanExporter

        _exporter = SpanExporter(service)
    return enabled()


def stop() -> None:
    """Sends what is left and ends the export."""
    global _exporter  # noqa: PLW0603
    if _exporter is not None:
        _exporter.close()
        _exporter = None


def _say(text: str, **facts: Any) -> None:
    from openral.log import logger

    logger().warning(text, **facts)
