"""The reference of the metrics, from the collectors that every service registers."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Metric, ProcessCollector

from pf_kit.limits import Limit
from pf_kit.telemetry import RpcMetrics
from pf_queue.admission.metrics import AdmissionMetrics, rounds_unlogged
from reference.rpc import cell

INTRODUCTION = """\
# Metrics

A service shows its metrics at `/metrics` of its admin port (`PF_<SERVICE>_SERVER_ADMIN`), in the text format of
Prometheus. `/healthz` says that the process lives, `/readyz` that it can do its work.

| metric | type | labels | |
|---|---|---|---|
"""


def page() -> str:
    return INTRODUCTION + "\n".join(row(family) for family in families())


def families() -> list[Metric]:
    """What a service shows once it has answered a call."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    metrics = RpcMetrics(registry)
    metrics.method("/package.Service/Method").record("OK", 0.001)
    metrics.show("call", Limit(1, 1))
    AdmissionMetrics(registry)
    rounds_unlogged(registry)
    return sorted(registry.collect(), key=lambda family: family.name)


def row(family: Metric) -> str:
    labels = sorted({label for sample in family.samples for label in sample.labels} - {"le"})
    name = f"{family.name}_total" if family.type == "counter" else family.name
    return (
        f"| `{name}` | {family.type} | {', '.join(f'`{label}`' for label in labels)} | {cell(family.documentation)} |"
    )
