"""Measures and spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry, generate_latest

from pf_kit.limits import Limit
from pf_kit.telemetry import BUCKETS, RpcMetrics
from pf_kit.tracing import Tracing, end, parse_traceparent, traceparent_of

SAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
NOT_SAMPLED = SAMPLED[:-1] + "0"


def test_calls_are_counted_and_timed() -> None:
    registry = CollectorRegistry()
    metrics, limit = RpcMetrics(registry), Limit(5, 5)
    metrics.show("call", limit)
    limit.enter()
    get = metrics.method("/echo.v1.EchoService/GetNote")
    get.record("OK", 0.002)
    get.record("OK", 99.0)
    get.record("NOT_FOUND", 0.0)
    labels = {"grpc_service": "echo.v1.EchoService", "grpc_method": "GetNote"}
    value = registry.get_sample_value
    assert value("grpc_server_handled_total", {**labels, "grpc_code": "OK"}) == 2
    assert value("grpc_server_handled_total", {**labels, "grpc_code": "NOT_FOUND"}) == 1
    assert value("grpc_server_handling_seconds_count", labels) == 3
    assert value("grpc_server_handling_seconds_sum", labels) == 99.002
    assert value("grpc_server_handling_seconds_bucket", {**labels, "le": "0.001"}) == 1
    assert value("grpc_server_handling_seconds_bucket", {**labels, "le": "0.0025"}) == 2
    assert value("grpc_server_handling_seconds_bucket", {**labels, "le": "+Inf"}) == 3
    assert value("grpc_server_under_way", {"kind": "call"}) == 1
    assert b"grpc_server_handling_seconds_bucket" in generate_latest(registry)


@given(st.lists(st.floats(0, 100)))
def test_buckets_hold_what_is_at_most_their_bound(times: list[float]) -> None:
    registry = CollectorRegistry()
    method = RpcMetrics(registry).method("/s/M")
    for seconds in times:
        method.record("OK", seconds)
    for bound in BUCKETS:
        labels = {"grpc_service": "s", "grpc_method": "M", "le": str(bound)}
        counted = registry.get_sample_value("grpc_server_handling_seconds_bucket", labels)
        assert counted == sum(seconds <= bound for seconds in times)


def tracing(ratio: float, chance: float) -> tuple[Tracing, InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Tracing(provider.get_tracer("test"), ratio, lambda: chance), exporter


def test_a_sampled_caller_is_followed() -> None:
    made, exporter = tracing(0.0, 0.5)
    span = made.begin("/q/Get", SAMPLED)
    assert span is not None
    assert traceparent_of(span).split("-")[1] == SAMPLED.split("-")[1]
    end(span, "NOT_FOUND", "user/alice")
    (done,) = exporter.get_finished_spans()
    assert done.parent is not None
    assert f"{done.parent.span_id:016x}" == SAMPLED.split("-")[2]
    assert done.attributes is not None
    assert done.attributes["rpc.grpc.status_code"] == "NOT_FOUND"
    assert not done.status.is_ok


@pytest.mark.parametrize(
    ("traceparent", "ratio", "chance", "sampled"),
    [("", 0.5, 0.4, True), ("", 0.5, 0.6, False), (NOT_SAMPLED, 1.0, 0.0, False), ("nonsense", 1.0, 0.0, True)],
)
def test_who_decides_whether_a_call_is_traced(traceparent: str, ratio: float, chance: float, sampled: bool) -> None:
    made, _ = tracing(ratio, chance)
    assert (made.begin("/q/Get", traceparent) is not None) == sampled


def test_without_a_collector_nothing_is_traced() -> None:
    assert Tracing(None, 1.0, lambda: 0.0).begin("/q/Get", SAMPLED) is None


@given(st.text() | st.from_regex(r"0[01]-[0-9a-f]{31,33}-[0-9a-f]{16}-[0-9a-f]{2}", fullmatch=True))
def test_only_well_formed_parents_are_taken(text: str) -> None:
    parsed = parse_traceparent(text)
    if parsed is not None:
        assert parsed.is_valid
        assert f"00-{parsed.trace_id:032x}-{parsed.span_id:016x}" == text[:52]


@pytest.mark.parametrize("text", ["", "00-" + "0" * 32 + "-b7ad6b7169203331-01", SAMPLED + "-x", SAMPLED.upper()])
def test_malformed_parents_are_treated_as_absent(text: str) -> None:
    assert parse_traceparent(text) is None
