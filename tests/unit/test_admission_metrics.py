"""What Prometheus is told of admission."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import Key, Patience, RoleRequest, Spec
from pf_queue.admission.engine import Engine
from pf_queue.admission.layout import ClusterFacts, Layout
from pf_queue.admission.metrics import AdmissionMetrics
from pf_queue.clusters.domain import ClusterStatus, Node
from pf_queue.quota.domain import Queue
from pf_queue.resources import Resources

SECOND = 1_000_000


def engine() -> Engine:
    """Room for one workload, for which two have waited for two seconds."""
    queue = Queue(name="q", cluster="c", min=Resources({"cpu": 1}))
    machine = Node(name="n", cluster="c", allocatable=Resources({"cpu": 2}))
    made = Engine(Tuning(), Patience())
    made.arrange(Layout.of([ClusterFacts("c", ClusterStatus.ONLINE, True, [queue], [machine])]), 0)
    for job in ("a", "b"):
        role = RoleRequest("worker", 1, 1, 1, Resources({"cpu": 2}))
        made.submit(Spec(key=Key(job, 1), queue="q", user="u", roles=(role,)), 0)
    while made.round(2 * SECOND):
        pass
    return made


def test_decisions_waits_and_queues_are_shown() -> None:
    registry, led = CollectorRegistry(), engine()
    metrics = AdmissionMetrics(registry)
    metrics.stored(led.effects())
    metrics.show(lambda: led, lambda: 3)
    value = registry.get_sample_value
    assert value("paddleflow_decisions_total", {"queue": "q", "kind": "admit"}) == 1
    assert value("paddleflow_admission_wait_seconds_sum") == 2.0
    assert value("paddleflow_admission_wait_seconds_bucket", {"le": "1.0"}) == 0
    assert value("paddleflow_admission_wait_seconds_bucket", {"le": "5.0"}) == 1
    assert value("paddleflow_workloads_waiting", {"queue": "q"}) == 1
    assert value("paddleflow_workloads_admitted", {"queue": "q"}) == 1
    assert value("paddleflow_queue_used", {"queue": "q", "resource": "cpu"}) == 2
    assert (value("paddleflow_queue_share", {"queue": "q"}) or 0) > 0
    assert value("paddleflow_workloads_set_aside") == 3
    assert b"paddleflow_decisions_total" in generate_latest(registry)


def test_a_queue_that_is_gone_is_shown_no_more() -> None:
    registry, led = CollectorRegistry(), engine()
    metrics = AdmissionMetrics(registry)
    metrics.stored(led.effects())
    labels = {"queue": "q", "kind": "admit"}
    assert registry.get_sample_value("paddleflow_decisions_total", labels) == 1
    metrics.show(lambda: Engine(Tuning(), Patience()), lambda: 0)
    assert registry.get_sample_value("paddleflow_decisions_total", labels) is None


def test_whoever_does_not_lead_shows_no_queues() -> None:
    registry = CollectorRegistry()
    AdmissionMetrics(registry)
    assert registry.get_sample_value("paddleflow_workloads_waiting", {"queue": "q"}) is None
