"""Measures of the calls a server answers, for Prometheus.

The names are those that other gRPC servers use, so that common dashboards fit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from pf_kit.limits import Limit

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds; a read takes about one thousandth, and no call lasts longer than the last."""

LABELS = ("grpc_service", "grpc_method")


class MethodMetrics:
    """Counts and times the calls of one method.

    All calls of a process are counted by its event loop alone, so that counting needs no locks: the ready-made counters
    of prometheus_client would cost as much as the rest of the boundary.
    """

    __slots__ = ("codes", "counts", "seconds")

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        """Calls by the code they ended with."""
        self.counts = [0] * (len(BUCKETS) + 1)
        """Calls by the bucket of their time; the last ones lasted longer than all bounds."""
        self.seconds = 0.0

    def record(self, code: str, seconds: float) -> None:
        """Counts one call that ended with this code."""
        self.codes[code] = self.codes.get(code, 0) + 1
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds


class RpcMetrics(Collector):
    """The measures of all methods, as Prometheus reads them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._methods: dict[tuple[str, str], MethodMetrics] = {}
        self._limits: dict[str, Limit] = {}
        registry.register(self)

    def method(self, path: str) -> MethodMetrics:
        """The measures of one method, for example ``/paddleflow.queue.v1.QueueService/GetQueue``."""
        _, service, name = path.split("/")
        return self._methods.setdefault((service, name), MethodMetrics())

    def show(self, kind: str, limit: Limit) -> None:
        """Shows how many of what the limit counts are under way."""
        self._limits[kind] = limit

    def collect(self) -> Iterator[Metric]:
        handled = CounterMetricFamily("grpc_server_handled", "Calls answered.", labels=(*LABELS, "grpc_code"))
        seconds = HistogramMetricFamily("grpc_server_handling_seconds", "Time to answer a call.", labels=LABELS)
        under_way = GaugeMetricFamily("grpc_server_under_way", "Calls and streams under way.", labels=("kind",))
        for labels, method in self._methods.items():
            for code, count in method.codes.items():
                handled.add_metric((*labels, code), count)
            seconds.add_metric(labels, _cumulated(method.counts), method.seconds)
        for kind, limit in self._limits.items():
            under_way.add_metric((kind,), limit.under_way)
        yield from (handled, seconds, under_way)


def _cumulated(counts: Sequence[int]) -> list[tuple[str, float]]:
    """Each bound with the number of calls that were at most as long."""
    bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
    return list(zip(bounds, map(float, accumulate(counts)), strict=True))
