"""Clusters, machines and flavours on the wire and back, and every field that cannot be taken."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.problems import InvalidArgument
from paddleflow.queue.v1 import cluster_pb2 as pb
from pf_kit.changes import ChangeKind
from pf_queue.clusters import convert
from pf_queue.clusters.domain import (
    Cluster,
    ClusterChanged,
    ClusterFilter,
    ClusterStatus,
    ClusterType,
    Flavour,
    FlavourChanged,
    FlavourFilter,
    Machines,
    Node,
    NodeFilter,
    Report,
)
from pf_queue.clusters.fields import cluster_violations, flavour_violations, machines_violations, node_violations
from pf_queue.resources import LARGEST, Resources

AMOUNTS = st.dictionaries(
    st.from_regex(r"[A-Za-z0-9./_-]{1,20}", fullmatch=True), st.integers(0, LARGEST), max_size=5
).map(Resources)
TIMES = st.integers(0, 2**42).map(lambda number: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(milliseconds=number))
WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=20)
LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
CLUSTERS = st.builds(
    Cluster,
    name=st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,40}[A-Za-z0-9_]", fullmatch=True),
    type=st.sampled_from(ClusterType),
    description=WORDS,
    endpoint=WORDS,
    software_version=WORDS,
    source=WORDS,
    setting=st.sampled_from(["", "{}", '{"a": [1]}']),
    namespaces=st.lists(LABELS, unique=True, max_size=5).map(tuple),
    credential=st.binary(max_size=10),
    status=st.sampled_from(ClusterStatus),
    machines=st.none() | st.builds(Machines, st.integers(0, 20_000), AMOUNTS),
    revision=st.integers(0, 2**62),
    overcommitted=st.booleans(),
    create_time=TIMES,
    update_time=TIMES,
    version=st.integers(1, 2**62),
)
NODES = st.builds(
    Node,
    name=WORDS,
    cluster=st.just("main"),
    allocatable=AMOUNTS,
    labels=st.dictionaries(WORDS, WORDS, max_size=5),
    schedulable=st.booleans(),
    dedicated_queue=LABELS | st.just(""),
)
FLAVOURS = st.builds(
    Flavour,
    name=st.from_regex(r"[A-Za-z0-9._-]{1,63}", fullmatch=True),
    resources=AMOUNTS.map(lambda amounts: Resources(dict(amounts) | {"cpu": 1, "memory": 1})),
    cluster=LABELS | st.just(""),
    creator=WORDS,
    create_time=TIMES,
    update_time=TIMES,
    version=st.integers(1, 2**62),
)


@given(CLUSTERS)
def test_a_cluster_survives_the_wire_without_its_credential(stored: Cluster) -> None:
    message = pb.Cluster.FromString(convert.cluster_message(stored).SerializeToString())
    again = convert.given_cluster(message)
    output_only = {"credential", "machines", "revision", "overcommitted", "create_time", "update_time", "version"}
    for field in Cluster.__dataclass_fields__.keys() - output_only:
        assert getattr(again, field) == getattr(stored, field), field
    assert list(cluster_violations(again)) == []
    assert message.credential == b""
    assert message.has_credential is bool(stored.credential)
    assert message.HasField("capacity") is (stored.machines is not None)
    assert dict(message.capacity.amounts) == (stored.machines.capacity if stored.machines else {})
    assert message.node_count == (stored.machines.count if stored.machines else 0)
    assert (message.revision, message.overcommitted) == (stored.revision, stored.overcommitted)
    assert message.create_time.ToDatetime(UTC) == stored.create_time
    assert message.etag == stored.etag


@given(st.lists(NODES, unique_by=lambda node: node.name, max_size=5), st.integers(1, 2**62))
def test_machines_survive_the_wire(nodes: list[Node], revision: int) -> None:
    messages = [convert.node_message(node) for node in nodes]
    request = pb.ReportNodesRequest(cluster="main", revision=revision, nodes=messages)
    again = convert.report_of(pb.ReportNodesRequest.FromString(request.SerializeToString()))
    assert again == Report("main", revision, 0, nodes)
    assert list(node_violations(nodes)) == []


@given(FLAVOURS)
def test_a_flavour_survives_the_wire(stored: Flavour) -> None:
    message = pb.Flavour.FromString(convert.flavour_message(stored).SerializeToString())
    again = convert.new_flavour(message)
    assert (again.name, again.resources, again.cluster) == (stored.name, stored.resources, stored.cluster)
    assert list(flavour_violations(again)) == []
    assert (message.creator, message.etag) == (stored.creator, stored.etag)


@given(CLUSTERS, FLAVOURS, st.sampled_from(ChangeKind))
def test_events_hold_the_thing_and_no_credential(cluster: Cluster, flavour: Flavour, kind: ChangeKind) -> None:
    told = convert.fact(ClusterChanged(kind, cluster, 7))
    assert (told.type, told.subject, told.version) == (
        "paddleflow.queue.v1.ClusterEvent",
        f"cluster/{cluster.name}",
        7,
    )
    event = pb.ClusterEvent.FromString(told.payload)
    assert event.cluster == convert.cluster_message(cluster)
    told = convert.fact(FlavourChanged(kind, flavour, 8))
    assert (told.type, told.subject) == ("paddleflow.queue.v1.FlavourEvent", f"flavour/{flavour.name}")
    assert pb.FlavourEvent.FromString(told.payload).flavour == convert.flavour_message(flavour)
    assert pb.FlavourEvent.FromString(told.payload).kind == event.kind


@pytest.mark.parametrize(
    ("ours", "table", "wire"),
    [(ClusterType, convert.TYPES, pb.ClusterType), (ClusterStatus, convert.STATUSES, pb.ClusterStatus)],
)
def test_every_value_of_an_enum_has_its_word(ours: type[StrEnum], table: dict[StrEnum, int], wire: Any) -> None:
    assert list(table) == list(ours)
    assert sorted([0, *table.values()]) == sorted(wire.values())


def test_what_is_not_set_at_creation_is_filled_in() -> None:
    made = convert.new_cluster(pb.Cluster(name="new", type=pb.CLUSTER_TYPE_LOCAL))
    assert made == Cluster(name="new", type=ClusterType.LOCAL, source="OnPremise")
    assert made.status is ClusterStatus.ONLINE


KUBERNETES: dict[str, Any] = {
    "name": "new",
    "type": pb.CLUSTER_TYPE_KUBERNETES,
    "endpoint": "https://k8s",
    "version": "1.30",
}
WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no name": ({"name": ""}, ["cluster.name"]),
    "one letter": ({"name": "x"}, ["cluster.name"]),
    "256 characters": ({"name": "x" * 256}, ["cluster.name"]),
    "a dash in front": ({"name": "-x"}, ["cluster.name"]),
    "a slash": ({"name": "a/b"}, ["cluster.name"]),
    "a line end": ({"name": "ab\n"}, ["cluster.name"]),
    "no type": ({"type": 0}, ["cluster.type"]),
    "unknown type": ({"type": 99}, ["cluster.type"]),
    "unknown status": ({"status": 99}, ["cluster.status"]),
    "nowhere and of no version": ({"endpoint": "", "version": ""}, ["cluster.endpoint", "cluster.version"]),
    "description with NUL": ({"description": "a\0b"}, ["cluster.description"]),
    "long version": ({"version": "x" * 1_025}, ["cluster.version"]),
    "setting that is no JSON": ({"setting": "{"}, ["cluster.setting"]),
    "setting that is no object": ({"setting": "[]"}, ["cluster.setting"]),
    "setting with what JSON has no word for": ({"setting": '{"a": NaN}'}, ["cluster.setting"]),
    "setting with an infinity": ({"setting": '{"a": [-Infinity]}'}, ["cluster.setting"]),
    "setting that is nested without end": ({"setting": "[" * 60_000}, ["cluster.setting"]),
    "setting that is too long": ({"setting": '{"a":"' + "x" * 65_536 + '"}'}, ["cluster.setting"]),
    "namespace": ({"namespaces": ["ok", "Not"]}, ["cluster.namespaces[1]"]),
    "the same namespace twice": ({"namespaces": ["a", "a"]}, ["cluster.namespaces"]),
    "too many namespaces": ({"namespaces": [f"n{n}" for n in range(1_001)]}, ["cluster.namespaces"]),
}


@pytest.mark.parametrize(("fields", "paths"), list(WRONG.values()), ids=list(WRONG))
def test_a_field_of_a_cluster_that_cannot_be_is_named(fields: dict[str, Any], paths: list[str]) -> None:
    with pytest.raises(InvalidArgument) as refused:
        convert.new_cluster(pb.Cluster(**KUBERNETES | fields))
    assert [violation.field for violation in refused.value.violations] == paths


def test_a_credential_has_an_end() -> None:
    assert convert.credential_of(pb.Cluster(credential=b"x" * 262_144))
    with pytest.raises(InvalidArgument, match="must have at most 262144 bytes"):
        convert.credential_of(pb.Cluster(credential=b"x" * 262_145))


@pytest.mark.parametrize("field", ["type", "status"])
def test_a_type_or_a_status_cannot_be_changed_to_none(field: str) -> None:
    request = pb.UpdateClusterRequest(cluster=pb.Cluster(name="c1"))
    request.update_mask.paths.append(field)
    with pytest.raises(InvalidArgument, match="must be given") as refused:
        convert.changed_cluster(request)
    assert [violation.field for violation in refused.value.violations] == [f"cluster.{field}"]


def node(**fields: Any) -> dict[str, Any]:
    return {"name": "n1"} | fields


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"revision": 0}, "revision"),
        ({"revision": -1}, "revision"),
        ({"nodes": [{}] * 20_001}, "nodes"),
        ({"nodes": [node(name="")]}, "nodes[0].name"),
        ({"nodes": [node(name="x" * 254)]}, "nodes[0].name"),
        ({"nodes": [node(name="a\0")]}, "nodes[0].name"),
        ({"nodes": [node(), node(name="n2"), node()]}, "nodes[2].name"),
        ({"nodes": [node(allocatable={"amounts": {"cpu": -1}})]}, "nodes[0].allocatable.amounts.cpu"),
        ({"nodes": [node(labels={"k": "\0"})]}, "nodes[0].labels.k"),
        ({"nodes": [node(dedicated_queue="No")]}, "nodes[0].dedicated_queue"),
        ({"base_revision": 1}, "base_revision"),
        ({"base_revision": -1}, "base_revision"),
        ({"gone": ["n1"]}, "gone"),
    ],
)
def test_what_is_wrong_with_a_report_is_named(fields: dict[str, Any], path: str) -> None:
    good: dict[str, Any] = {"cluster": "main", "revision": 1}
    with pytest.raises(InvalidArgument) as refused:
        convert.report_of(pb.ReportNodesRequest(**good | fields))
    assert [violation.field for violation in refused.value.violations] == [path]


def test_sums_have_their_limit_too() -> None:
    huge = [Node(name=name, cluster="main", allocatable=Resources({"cpu": LARGEST})) for name in "ab"]
    [violation] = machines_violations(2, Machines.of(huge))
    assert violation.field == "nodes"
    assert [each.field for each in machines_violations(20_001, Machines.of([]))] == ["nodes"]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"name": ""}, "flavour.name"),
        ({"name": "a b"}, "flavour.name"),
        ({"name": "x" * 64}, "flavour.name"),
        ({"resources": {"amounts": {"memory": 1}}}, "flavour.resources.amounts.cpu"),
        ({"resources": {"amounts": {"cpu": 1, "memory": 0}}}, "flavour.resources.amounts.memory"),
        ({"resources": {"amounts": {"cpu": 1, "memory": 1, "x": -1}}}, "flavour.resources.amounts.x"),
    ],
)
def test_a_field_of_a_flavour_that_cannot_be_is_named(fields: dict[str, Any], path: str) -> None:
    good: dict[str, Any] = {"name": "new", "resources": {"amounts": {"cpu": 1, "memory": 1}}}
    with pytest.raises(InvalidArgument) as refused:
        convert.new_flavour(pb.Flavour(**good | fields))
    assert [violation.field for violation in refused.value.violations] == [path]


def test_filters() -> None:
    assert convert.cluster_filter(
        pb.ListClustersRequest(names=["a", "b"], status=pb.CLUSTER_STATUS_OFFLINE)
    ) == ClusterFilter(frozenset("ab"), ClusterStatus.OFFLINE)
    assert convert.flavour_filter(pb.ListFlavoursRequest(cluster="c", name_prefix="f")) == FlavourFilter("c", "f")
    request = pb.ListNodesRequest(clusters=["c"], queue="q", labels={"a": "b"})
    assert convert.node_filter(request) == NodeFilter(clusters=frozenset("c"), labels={"a": "b"})


def test_filters_that_cannot_be_are_named() -> None:
    with pytest.raises(InvalidArgument, match=r"names\[1\]"):
        convert.cluster_filter(pb.ListClustersRequest(names=["a", "\0"]))
    with pytest.raises(InvalidArgument, match="names: must be at most 1000"):
        convert.cluster_filter(pb.ListClustersRequest(names=["a"] * 1_001))
    with pytest.raises(InvalidArgument, match="name_prefix"):
        convert.flavour_filter(pb.ListFlavoursRequest(name_prefix="\0"))
    with pytest.raises(InvalidArgument, match=r"clusters\[0\]"):
        convert.node_filter(pb.ListNodesRequest(clusters=["\0"]))
