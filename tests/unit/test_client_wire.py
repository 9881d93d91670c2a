"""Models to and from the wire."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2, info_pb2
from paddleflow.models import (
    AuditRecord,
    ChangeKind,
    Cluster,
    ClusterStatus,
    ClusterType,
    Flavour,
    Grant,
    Isolation,
    Node,
    OrderPolicy,
    PreemptionPolicy,
    Queue,
    QueueState,
    QuotaType,
    ResourceKind,
    User,
)
from paddleflow.problems import InvalidArgument
from paddleflow.queue.v1 import cluster_pb2, queue_pb2
from paddleflow.wire import audit, clusters, queues, users
from paddleflow.wire.base import EnumCodec, time_from_wire, time_to_wire

NAMES = st.text(max_size=8)
AMOUNTS = st.dictionaries(NAMES, st.integers(0, 10**18), max_size=3)
COUNTS = st.integers(0, 2**31 - 1)
WORDS = st.dictionaries(NAMES, NAMES, max_size=3)
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001

QUEUES = st.builds(
    Queue,
    name=NAMES,
    cluster=NAMES,
    namespace=NAMES,
    quota_type=st.sampled_from(QuotaType),
    isolation=st.sampled_from(Isolation),
    parent=NAMES,
    min=AMOUNTS,
    max=AMOUNTS,
    lend_limit=AMOUNTS,
    weight=COUNTS,
    priority=st.integers(-1000, 1000),
    preemption_policy=st.sampled_from(PreemptionPolicy),
    order_policy=st.sampled_from(OrderPolicy),
    max_jobs=COUNTS,
    max_per_user=AMOUNTS,
    max_jobs_per_user=COUNTS,
    labels=WORDS,
    etag=NAMES,
)
CLUSTERS = st.builds(
    Cluster,
    name=NAMES,
    description=NAMES,
    endpoint=NAMES,
    type=st.sampled_from(ClusterType),
    version=NAMES,
    source=NAMES,
    setting=NAMES,
    namespaces=st.lists(NAMES, max_size=3).map(tuple),
    status=st.sampled_from(ClusterStatus),
    etag=NAMES,
)


@given(QUEUES)
def test_a_queue_survives_the_wire(queue: Queue) -> None:
    sent = queue_pb2.Queue.FromString(queues.queue_to_wire(queue).SerializeToString())
    assert queues.queue_from_wire(sent) == queue


@given(CLUSTERS)
def test_a_cluster_survives_the_wire(cluster: Cluster) -> None:
    sent = cluster_pb2.Cluster.FromString(clusters.cluster_to_wire(cluster).SerializeToString())
    assert clusters.cluster_from_wire(sent) == cluster


@given(st.builds(Node, NAMES, AMOUNTS, WORDS, st.booleans(), NAMES))
def test_a_machine_survives_the_wire(node: Node) -> None:
    assert clusters.node_from_wire(clusters.node_to_wire(node)) == node


@given(st.builds(Flavour, NAMES, AMOUNTS, NAMES, etag=NAMES))
def test_a_flavour_survives_the_wire(flavour: Flavour) -> None:
    assert clusters.flavour_from_wire(clusters.flavour_to_wire(flavour)) == flavour


@given(st.builds(Grant, NAMES, st.sampled_from(ResourceKind), NAMES))
def test_a_grant_survives_the_wire(grant: Grant) -> None:
    assert users.grant_from_wire(users.grant_to_wire(grant)) == grant


@given(MOMENTS)
def test_a_moment_survives_the_wire(moment: datetime) -> None:
    assert time_from_wire(auth_pb2.User(create_time=time_to_wire("since", moment)), "create_time") == moment


def test_what_only_the_server_fills_is_read_and_not_sent() -> None:
    began = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    told = queue_pb2.Queue(name="q", state=queue_pb2.QUEUE_STATE_HELD, create_time=time_to_wire("since", began))
    told.used.amounts["cpu"] = 1
    told.effective_max.amounts["cpu"] = 2
    queue = queues.queue_from_wire(told)
    assert queue == Queue("q", state=QueueState.HELD, used={"cpu": 1}, effective_max={"cpu": 2}, create_time=began)
    assert queues.queue_to_wire(queue) == queues.queue_to_wire(Queue("q"))


def test_a_credential_is_sent_and_not_shown() -> None:
    cluster = Cluster("c", credential=b"kube")
    assert clusters.cluster_to_wire(cluster).credential == b"kube"
    assert "kube" not in repr(cluster)


def test_an_unset_time_is_none() -> None:
    assert users.user_from_wire(auth_pb2.User(name="u")) == User("u")


def test_an_audit_record_is_read_wholly() -> None:
    record = info_pb2.AuditRecord(id=7, actor="user/root", method="/s/M", subject="queue/a", peer="p", request_id="r")
    assert audit.audit_record_from_wire(record) == AuditRecord(7, None, "user/root", "", "/s/M", "queue/a", "p", "r")


@pytest.mark.parametrize(
    ("codec", "wire"),
    [
        (queues.QUOTA_TYPE, queue_pb2.QuotaType),
        (queues.ISOLATION, queue_pb2.Isolation),
        (queues.PREEMPTION_POLICY, queue_pb2.PreemptionPolicy),
        (queues.ORDER_POLICY, queue_pb2.OrderPolicy),
        (queues.STATE, queue_pb2.QueueState),
        (clusters.TYPE, cluster_pb2.ClusterType),
        (clusters.STATUS, cluster_pb2.ClusterStatus),
        (users.KIND, auth_pb2.ResourceKind),
        (audit.CHANGE_KIND, event_pb2.ChangeKind),
    ],
)
def test_every_member_has_its_number_and_a_newer_one_reads_as_unspecified(
    codec: EnumCodec[Any, Any], wire: Any
) -> None:
    assert sorted(codec.number(member) for member in codec.kind) == sorted(wire.values())
    assert all(codec.member(codec.number(member)) is member for member in codec.kind)
    assert codec.member(99) is codec.kind.UNSPECIFIED


def test_changes_of_a_queue_name_single_resources_and_labels() -> None:
    queue, mask = queues.queue_changes_to_wire(
        "q",
        "e1",
        {
            "parent": "p",
            "max": {"cpu": 4000, "nvidia.com/gpu": None},
            "labels": {"stage": None, "team": "a"},
            "preemption_policy": PreemptionPolicy.NEVER,
            "order_policy": OrderPolicy.STRICT_FIFO,
            "max_jobs": 0,
        },
    )
    assert list(mask.paths) == [
        "parent",
        "max.amounts.cpu",
        "max.amounts.nvidia.com/gpu",
        "labels.stage",
        "labels.team",
        "preemption_policy",
        "order_policy",
        "max_jobs",
    ]
    assert queues.queue_from_wire(queue) == Queue(
        "q",
        parent="p",
        max={"cpu": 4000},
        labels={"team": "a"},
        preemption_policy=PreemptionPolicy.NEVER,
        order_policy=OrderPolicy.STRICT_FIFO,
        etag="e1",
    )


def test_changes_of_a_cluster_may_empty_its_namespaces() -> None:
    cluster, mask = clusters.cluster_changes_to_wire(
        "c", "", {"namespaces": [], "status": ClusterStatus.OFFLINE, "type": ClusterType.LOCAL, "credential": b"k"}
    )
    assert list(mask.paths) == ["namespaces", "status", "type", "credential"]
    read = clusters.cluster_from_wire(cluster)
    assert read == replace(Cluster("c"), status=ClusterStatus.OFFLINE, type=ClusterType.LOCAL)


def test_changes_of_a_flavour_name_single_resources() -> None:
    flavour, mask = clusters.flavour_changes_to_wire("f", "", {"resources": {"cpu": 1, "x": None}, "cluster": "c"})
    assert list(mask.paths) == ["resources.amounts.cpu", "resources.amounts.x", "cluster"]
    assert clusters.flavour_from_wire(flavour) == Flavour("f", {"cpu": 1}, "c")


def test_no_change_is_refused_before_it_is_sent() -> None:
    with pytest.raises(InvalidArgument, match="Nothing to change is given"):
        queues.queue_changes_to_wire("q", "", {"max": {}, "labels": {}})


def test_kinds_of_changes_are_named_as_on_the_wire() -> None:
    assert audit.CHANGE_KIND.member(4) is ChangeKind.EXISTING
