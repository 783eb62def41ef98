"""Trace spans of actions, exported over OTLP if an endpoint is set.

Set OTEL_EXPORTER_OTLP_ENDPOINT and install the extra `otel`; without either, a span costs one `if`
and nothing is imported. All spans of an action carry its trace id, across processes.
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
    """Whether spans are exported."""
    return _exporter is not None


def span(
    name: str, trace_id: bytes | None = None, began_ns: int | None = None, **attributes: Attribute
) -> AbstractContextManager[Span]:
    """A span over the `with` block; `began_ns` (wall time, ns) sets an earlier start.

    A trace id of 16 bytes, not all zero, makes it part of that action's trace.
    """
    if _exporter is None:
        return _NOTHING
    return _exporter.span(name, trace_id, began_ns, attributes)


def start(service: str) -> bool:
    """Starts exporting under a service name if an endpoint is set; returns whether it does."""
    global _exporter  # noqa: PLW0603 - one process has one exporter
    if _exporter is None and os.environ.get(ENDPOINT):
        if importlib.util.find_spec("opentelemetry") is None:
            _say(f"{ENDPOINT} is set, but the extra 'otel' is not installed: no traces")
            return False
        from openral.tracing.exporter import SpanExporter

        _exporter = SpanExporter(service)
    return enabled()


def stop() -> None:
    """Sends the remaining spans and stops exporting."""
    global _exporter  # noqa: PLW0603
    if _exporter is not None:
        _exporter.close()
        _exporter = None


def _say(text: str, **facts: Any) -> None:
    from openral.log import logger

    logger().warning(text, **facts)
