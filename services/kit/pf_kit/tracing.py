"""Spans, made only for calls that are sampled, and the W3C traceparent that ties calls and events together."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import random
from typing import Annotated

from opentelemetry import trace as otel
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from pf_kit.setting_types import Between

TRACEPARENT = "traceparent"

_PATTERN = re.compile("00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """Where spans go, and of which calls they are made."""

    endpoint: str | None = None
    """An OTLP collector for gRPC, for example ``http://collector:4317``. Empty: no spans are made, and the trace of the
    caller is only passed on. Needs the package's extra `tracing`."""
    ratio: Annotated[float, Between(0, 1)] = 0.01
    """The share of calls to trace among those whose caller does not say whether it traces them."""


class Tracing:
    """Decides which calls get a span, and makes it."""

    def __init__(self, tracer: otel.Tracer | None, ratio: float, chance: Callable[[], float]) -> None:
        """Without a tracer no call gets a span; `chance` gives numbers from 0 up to 1."""
        self._tracer = tracer
        self.enabled = tracer is not None
        self._ratio = ratio
        self._chance = chance

    def begin(self, method: str, traceparent: str) -> Span | None:
        """The span of a call; None if the call is not sampled."""
        if self._tracer is None:
            return None
        parent = parse_traceparent(traceparent)
        if not (parent.trace_flags.sampled if parent else self._chance() < self._ratio):
            return None
        context = otel.set_span_in_context(otel.NonRecordingSpan(parent)) if parent else None
        return self._tracer.start_span(method.lstrip("/"), context, SpanKind.SERVER)


def parse_traceparent(text: str) -> SpanContext | None:
    """The caller's span; None if the text is malformed, which W3C wants treated as absent."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    trace_id, span_id, flags = (int(part, 16) for part in match.groups())
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags & TraceFlags.SAMPLED))


def traceparent_of(span: Span) -> str:
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def end(span: Span, code: str, principal: str) -> None:
    span.set_attribute("rpc.system", "grpc")
    span.set_attribute("rpc.grpc.status_code", code)
    span.set_attribute("enduser.id", principal)
    if code != "OK":
        span.set_status(Status(StatusCode.ERROR, code))
    span.end()


def provider(service: str, exporter: SpanExporter) -> TracerProvider:
    """Sends spans in batches; its `shutdown` sends what is left."""
    made = TracerProvider(resource=Resource.create({SERVICE_NAME: f"paddleflow-{service}"}))
    made.add_span_processor(BatchSpanProcessor(exporter))
    return made


def otlp_exporter(endpoint: str) -> SpanExporter:
    # Installed with the extra only.
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415

    return OTLPSpanExporter(endpoint=endpoint)


@asynccontextmanager
async def traced(settings: TraceSettings, service: str) -> AsyncIterator[Tracing]:
    """The tracing of a service's process; the spans that are left are sent at the end."""
    if settings.endpoint is None:
        yield Tracing(None, settings.ratio, random)
        return
    spans = provider(service, otlp_exporter(settings.endpoint))
    yield Tracing(spans.get_tracer("paddleflow"), settings.ratio, random)
    spans.shutdown()
