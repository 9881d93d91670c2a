"""What those who look after machines ask over HTTP: whether a process lives, whether it works, and what it has done."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from pf_csi.held import Held, State
from pf_kit.admin import AdminPort
from pf_kit.telemetry import RpcMetrics

logger = logging.getLogger(__name__)


class Measures:
    """Of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)

    def calls(self) -> RpcMetrics:
        """Those that it answers."""
        return RpcMetrics(self.registry)

    @asynccontextmanager
    async def told(self, address: str, ready: Callable[[], bool]) -> AsyncIterator[None]:
        """At an address, for the block; nowhere if it is empty."""
        if not address:
            yield
            return
        async with AdminPort(self.registry, ready).listening(address) as port:
            logger.info("health and measures are told", extra={"port": port})
            yield


class MountsByState(Collector):
    """How many mounts of a machine are how far."""

    def __init__(self, registry: CollectorRegistry, held: Callable[[], Mapping[str, Held]]) -> None:
        self._held = held
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        shown = GaugeMetricFamily("paddleflow_csi_mounts", "Mounts of this machine by their state.", labels=("state",))
        counts = Counter(each.state for each in self._held().values())
        for state in State:
            shown.add_metric((state.value,), counts[state])
        yield shown
