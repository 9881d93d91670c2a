"""Measures of the calls a server answers, for Prometheus.

The names are those that other gRPC servers use, so that common dashboards fit.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from pf_kit.limits import Limit

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds; a read takes about one thousandth, and no call lasts longer than the last."""


class RpcMetrics:
    """Counts and times calls by method and result."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("grpc_service", "grpc_method")
        self._handled = Counter(
            "grpc_server_handled_total", "Calls answered.", (*labels, "grpc_code"), registry=registry
        )
        self._seconds = Histogram(
            "grpc_server_handling_seconds", "Time to answer a call.", labels, registry=registry, buckets=BUCKETS
        )
        self._under_way = Gauge("grpc_server_under_way", "Calls and streams under way.", ("kind",), registry=registry)

    def method(self, path: str) -> MethodMetrics:
        """The measures of one method, for example ``/paddleflow.queue.v1.QueueService/GetQueue``."""
        _, service, name = path.split("/")
        return MethodMetrics(self._handled, self._seconds, service, name)

    def show(self, kind: str, limit: Limit) -> None:
        """Shows how many of what the limit counts are under way."""
        self._under_way.labels(kind).set_function(lambda: limit.under_way)


class MethodMetrics:
    """The measures of one method. Finding a measure by its labels costs more than counting, so it is done once."""

    def __init__(self, handled: Counter, seconds: Histogram, service: str, name: str) -> None:
        self._labels = (service, name)
        self._handled = handled
        self._seconds = seconds.labels(service, name)
        self._by_code: dict[str, Counter] = {}

    def record(self, code: str, seconds: float) -> None:
        """Counts one call that ended with this code."""
        counter = self._by_code.get(code)
        if counter is None:
            counter = self._by_code[code] = self._handled.labels(*self._labels, code)
        counter.inc()
        self._seconds.observe(seconds)
