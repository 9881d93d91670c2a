"""Measures of admission, for Prometheus. Only the instance that leads has any."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client import Counter as ShownCounter
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from pf_queue.admission.domain import Admitted, Effects
from pf_queue.admission.engine import Engine
from pf_queue.admission.loads import Load, loads

BUCKETS = (0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0)
"""Seconds that a workload waits: from at once to a day."""
FIRST = 1
"""The version of a grant with which a workload starts; higher ones are growth."""


class AdmissionMetrics(Collector):
    """What was decided since this instance started, and how busy the queues are."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._engine: Callable[[], Engine | None] = _nobody
        self._aside: Callable[[], int] = int
        self._decided: Counter[tuple[str, str]] = Counter()
        self._waits = [0] * (len(BUCKETS) + 1)
        self._waited = 0.0
        registry.register(self)

    def show(self, engine: Callable[[], Engine | None], aside: Callable[[], int]) -> None:
        """Shows the queues of an engine, which is None while another instance leads, and how many are set aside."""
        self._engine, self._aside = engine, aside

    def stored(self, effects: Effects) -> None:
        """Counts what is decided for good."""
        self._decided.update((each.queue, each.kind.value) for each in effects.decided)
        for fact in effects.facts:
            if isinstance(fact, Admitted) and fact.record.grant_version == FIRST:
                seconds = (fact.record.since - fact.record.submitted) / 1_000_000
                self._waits[bisect_left(BUCKETS, seconds)] += 1
                self._waited += seconds

    def collect(self) -> Iterator[Metric]:
        self._forget()
        decisions = CounterMetricFamily("paddleflow_decisions", "Decided about workloads.", labels=("queue", "kind"))
        for labels, count in self._decided.items():
            decisions.add_metric(labels, count)
        waits = HistogramMetricFamily(
            "paddleflow_admission_wait_seconds", "Time from the submission of a workload to its admission."
        )
        bounds = [*map(str, BUCKETS), "+Inf"]
        waits.add_metric((), list(zip(bounds, accumulate(self._waits), strict=True)), self._waited)
        aside = GaugeMetricFamily(
            "paddleflow_workloads_set_aside", "Workloads of which what is stored makes no sense.", self._aside()
        )
        yield from (decisions, waits, aside, *_gauges(self._loads()))

    def _forget(self) -> None:
        """Counts nothing of queues that are gone: names would come and never go."""
        engine = self._engine()
        known = engine.layout.pool_of if engine else {name for name, _ in self._decided}
        for key in [key for key in self._decided if key[0] not in known]:
            del self._decided[key]

    def _loads(self) -> Sequence[Load]:
        engine = self._engine()
        pools = engine.pools.values() if engine else ()
        return [load for pool in pools for load in loads(pool, {}, {})]


def rounds_unlogged(registry: CollectorRegistry) -> ShownCounter:
    return ShownCounter(
        "paddleflow_rounds_unlogged", "Turns of admission that stand in no log of rounds.", registry=registry
    )


def _nobody() -> None:
    """Nobody leads here yet."""


def _gauges(found: Sequence[Load]) -> Iterator[Metric]:
    waiting = GaugeMetricFamily("paddleflow_workloads_waiting", "Workloads that wait.", labels=("queue",))
    admitted = GaugeMetricFamily("paddleflow_workloads_admitted", "Workloads that are admitted.", labels=("queue",))
    share = GaugeMetricFamily(
        "paddleflow_queue_share", "What a queue borrows of what it could, divided by its weight.", labels=("queue",)
    )
    used = GaugeMetricFamily(
        "paddleflow_queue_used", "What the workloads of a queue hold.", labels=("queue", "resource")
    )
    for load in found:
        waiting.add_metric((load.queue,), load.waiting)
        admitted.add_metric((load.queue,), load.admitted)
        share.add_metric((load.queue,), load.share)
        for resource, amount in load.used.items():
            used.add_metric((load.queue, resource), amount)
    yield from (waiting, admitted, share, used)
