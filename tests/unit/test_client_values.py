"""Values that no message can hold: refused by the client, naming the field, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

import paddleflow
from paddleflow.models import Cluster, Flavour, Node, Queue, Release, RoleRequest, Workload, WorkloadKey
from paddleflow.problems import InvalidArgument
from paddleflow.queue.v1 import queue_pb2
from paddleflow.sync import PaddleFlow
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import PASSWORD

HUGE = 2**70
KEY = WorkloadKey("a", 1)


@pytest.fixture
def client(fake: FakePaddleFlow) -> Iterator[PaddleFlow]:
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as opened:
        yield opened


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda client: client.queues.create(Queue("a", weight=HUGE)), "weight"),
        (lambda client: client.queues.create(Queue("a", max={"cpu": HUGE})), "amounts"),
        (lambda client: client.queues.create(Queue("\udcff")), "name"),
        (lambda client: client.queues.create(Queue("a", order_policy="random")), "OrderPolicy"),  # type: ignore[arg-type]
        (lambda client: client.queues.update("a", priority=HUGE), "priority"),
        (lambda client: client.queues.update("a", min={"cpu": HUGE}), "min"),
        (lambda client: client.queues.update("a", parent=7), "parent"),
        (lambda client: client.queues.update("a", order_policy="random"), "OrderPolicy"),
        (lambda client: client.queues.page(HUGE), "page_size"),
        (lambda client: client.queues.page(states=["shut"]), "QueueState"),
        (lambda client: client.queues.get("\udcff"), "name"),
        (lambda client: client.clusters.create(Cluster("c", credential="text")), "credential"),  # type: ignore[arg-type]
        (lambda client: client.clusters.update("c", namespaces="text"), "namespaces"),
        (lambda client: client.clusters.report_nodes("c", HUGE, []), "revision"),
        (lambda client: client.flavours.create(Flavour("f", {"cpu": 0.5})), "amounts"),  # type: ignore[dict-item]
        (lambda client: client.users.create("alice", "\udcff"), "password"),
        (lambda client: client.tokens.create("t", lifetime=timedelta(days=999_999_999)), "lifetime"),
        (lambda client: client.workloads.submit([Workload(KEY, "q", priority=HUGE)]), "priority"),
        (lambda client: client.workloads.submit([Workload(KEY, "q", roles=[RoleRequest("r", HUGE)])]), "min_replicas"),
        (lambda client: client.workloads.submit([Workload(KEY, "q", grace_period=timedelta.max)]), "grace_period"),
        (lambda client: client.workloads.release([Release(KEY, "gone")]), "ReleaseOutcome"),  # type: ignore[arg-type]
        (lambda client: client.workloads.resize(KEY, "g", {"worker": HUGE}), "surplus"),
        (lambda client: client.workloads.get(WorkloadKey("\udcff")), "job_id"),
        (lambda client: client.workloads.page("q", states=["gone"]), "WorkloadState"),
        (lambda client: client.workloads.decision_page(kinds=["guess"]), "DecisionKind"),
        (lambda client: client.workloads.simulate(nodes=[Node("n", cluster=7)]), "cluster"),  # type: ignore[arg-type]
        (lambda client: next(client.workloads.watch(queues=[7])), "queues"),
        (lambda client: client.audit.page(since=datetime(2026, 5, 1)), "since"),  # noqa: DTZ001
    ],
)
def test_it_is_refused_by_name(
    fake: FakePaddleFlow, client: PaddleFlow, call: Callable[[Any], object], field: str
) -> None:
    with pytest.raises(InvalidArgument, match=rf"^{field}: ") as raised:
        call(client)
    assert [violation.field for violation in raised.value.violations] == [field]
    assert fake.world.requests == []


def test_a_secret_that_does_not_fit_is_not_told(client: PaddleFlow) -> None:
    with pytest.raises(InvalidArgument) as raised:
        client.clusters.create(Cluster("c", credential="sesame"))  # type: ignore[arg-type]
    assert "sesame" not in str(raised.value)


@pytest.mark.parametrize("change", [{}, {"resources": {}}])
def test_nothing_is_no_change(client: PaddleFlow, change: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="Nothing to change is given"):
        client.flavours.update("f", **change)


def test_a_word_stands_for_its_enum(fake: FakePaddleFlow, client: PaddleFlow) -> None:
    client.queues.create(Queue("a", order_policy="strict-fifo"))  # type: ignore[arg-type]
    client.queues.update("a", order_policy="strict-fifo")  # type: ignore[arg-type]
    assert fake.world.queues["a"].order_policy == queue_pb2.ORDER_POLICY_STRICT_FIFO
    [update] = fake.world.asked(queue_pb2.UpdateQueueRequest)
    assert update.queue.order_policy == queue_pb2.ORDER_POLICY_STRICT_FIFO
