"""SpanExporter: the OpenTelemetry backend of `tracing.span`, imported only when exporting."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from openral.tracing.span import Attribute, Span

_FLUSH_MS = 2000
_BATCH_MS = 500


class SpanExporter:
    """Sends spans in batches on its own thread; an unreachable receiver delays no other thread."""

    def __init__(self, service: str) -> None:
        self._provider = TracerProvider(resource=Resource.create({SERVICE_NAME: service}))
        exporter = OTLPSpanExporter(timeout=2)
        self._provider.add_span_processor(
            BatchSpanProcessor(exporter, schedule_delay_millis=_BATCH_MS)
        )
        self._tracer = self._provider.get_tracer("openral")

    @contextmanager
    def span(
        self,
        name: str,
        trace_id: bytes | None,
        began_ns: int | None,
        attributes: Mapping[str, Attribute],
    ) -> Iterator[Span]:
        """See `tracing.span`."""
        made = self._tracer.start_span(
            name, _parent(trace_id), start_time=began_ns, attributes=dict(attributes)
        )
        try:
            yield _Open(made)
        except BaseException as error:
            made.record_exception(error)
            raise
        finally:
            made.end()

    def close(self) -> None:
        """Sends the remaining spans, waiting up to 2 s for the flush."""
        self._provider.force_flush(_FLUSH_MS)
        self._provider.shutdown()


class _Open(Span):
    def __init__(self, made: trace.Span) -> None:
        self._made = made

    def set(self, **attributes: Attribute) -> None:
        self._made.set_attributes(attributes)


def _parent(trace_id: bytes | None) -> Context | None:
    """The context of an action's trace, with a remote parent span; None without a trace id."""
    if trace_id is None or not any(trace_id):
        return None
    about = trace.SpanContext(
        int.from_bytes(trace_id, "big"),
        secrets.randbits(64) or 1,
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(about))
