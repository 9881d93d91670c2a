"""Between messages and the values of clusters, machines and flavours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paddleflow.common.v1 import event_pb2
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.queue.v1 import cluster_pb2
from pf_kit.events import Fact
from pf_kit.fields import plain_text, require
from pf_kit.principal import Principal
from pf_kit.wire import CHANGE_KINDS, timestamp
from pf_queue.clusters.domain import (
    DEFAULT_SOURCE,
    Cluster,
    ClusterChanged,
    ClusterEvent,
    ClusterFilter,
    ClusterStatus,
    ClusterType,
    Flavour,
    FlavourChanged,
    FlavourFilter,
    Node,
    NodeFilter,
    Report,
)
from pf_queue.clusters.fields import (
    MOST_NODES,
    cluster_violations,
    credential_violations,
    flavour_violations,
    node_violations,
)
from pf_queue.fields import FILTER_LENGTH, labels
from pf_queue.wire import enum_value, resources_message, resources_of

CLUSTER_EVENT = cluster_pb2.ClusterEvent.DESCRIPTOR.full_name
FLAVOUR_EVENT = cluster_pb2.FlavourEvent.DESCRIPTOR.full_name
MOST_CHOSEN = 1_000
"""Names in a filter."""

TYPES = {
    ClusterType.KUBERNETES: cluster_pb2.CLUSTER_TYPE_KUBERNETES,
    ClusterType.LOCAL: cluster_pb2.CLUSTER_TYPE_LOCAL,
}
STATUSES = {
    ClusterStatus.ONLINE: cluster_pb2.CLUSTER_STATUS_ONLINE,
    ClusterStatus.OFFLINE: cluster_pb2.CLUSTER_STATUS_OFFLINE,
}


def cluster_message(cluster: Cluster) -> cluster_pb2.Cluster:
    """All but the credential, which is never shown."""
    machines = cluster.machines
    return cluster_pb2.Cluster(
        name=cluster.name,
        description=cluster.description,
        endpoint=cluster.endpoint,
        type=TYPES[cluster.type],
        version=cluster.software_version,
        source=cluster.source,
        setting=cluster.setting,
        namespaces=cluster.namespaces,
        status=STATUSES[cluster.status],
        has_credential=bool(cluster.credential),
        capacity=resources_message(machines.capacity) if machines else None,
        node_count=machines.count if machines else 0,
        revision=cluster.revision,
        overcommitted=cluster.overcommitted,
        create_time=timestamp(cluster.create_time),
        update_time=timestamp(cluster.update_time),
        etag=cluster.etag,
    )


def visible_to(caller: Principal, cluster: cluster_pb2.Cluster) -> cluster_pb2.Cluster:
    """The cluster as the caller may see it: how it is reached and set up is for root, and for services."""
    if not caller.root:
        cluster.ClearField("endpoint")
        cluster.ClearField("setting")
    return cluster


def new_cluster(message: cluster_pb2.Cluster) -> Cluster:
    """The cluster to be made, without its credential. InvalidArgument names each field that cannot be."""
    filled = cluster_pb2.Cluster()
    filled.CopyFrom(message)
    filled.source = message.source or DEFAULT_SOURCE
    if message.type == cluster_pb2.CLUSTER_TYPE_UNSPECIFIED:
        raise InvalidArgument.of(Violation("cluster.type", "must be given"))
    cluster = given_cluster(filled)
    require(cluster_violations(cluster))
    return cluster


def given_cluster(message: cluster_pb2.Cluster) -> Cluster:
    """The values that a caller gives, right or wrong, without the credential; what is output only is passed over."""
    return Cluster(
        name=message.name,
        type=enum_value("cluster.type", message.type, TYPES, ClusterType.KUBERNETES),
        description=message.description,
        endpoint=message.endpoint,
        software_version=message.version,
        source=message.source,
        setting=message.setting,
        namespaces=tuple(message.namespaces),
        status=enum_value("cluster.status", message.status, STATUSES, ClusterStatus.ONLINE),
    )


def changed_cluster(request: cluster_pb2.UpdateClusterRequest) -> Cluster:
    """The new values of a cluster. InvalidArgument if the type or the status is to be changed to none."""
    for field in ("type", "status"):
        if field in request.update_mask.paths and not getattr(request.cluster, field):
            raise InvalidArgument.of(Violation(f"cluster.{field}", "must be given"))
    return given_cluster(request.cluster)


def credential_of(message: cluster_pb2.Cluster) -> bytes:
    """The credential that a caller gives."""
    require(credential_violations(message.credential))
    return message.credential


def cluster_filter(request: cluster_pb2.ListClustersRequest) -> ClusterFilter:
    require(_names_violations("names", request.names))
    status = enum_value("status", request.status, STATUSES, None)
    return ClusterFilter(frozenset(request.names), status)


def report_of(request: cluster_pb2.ReportNodesRequest) -> Report:
    """A report. InvalidArgument names what is wrong with it."""
    require(_report_violations(request))
    nodes = [given_node(request.cluster, message) for message in request.nodes]
    require(node_violations(nodes))
    return Report(request.cluster, request.revision, request.base_revision, nodes, frozenset(request.gone))


def node_message(node: Node) -> cluster_pb2.Node:
    return cluster_pb2.Node(
        name=node.name,
        allocatable=resources_message(node.allocatable),
        labels=node.labels,
        schedulable=node.schedulable,
        dedicated_queue=node.dedicated_queue,
        cluster=node.cluster,
    )


def node_filter(request: cluster_pb2.ListNodesRequest) -> NodeFilter:
    require(_names_violations("clusters", request.clusters), labels("labels", request.labels))
    return NodeFilter(clusters=frozenset(request.clusters), labels=dict(request.labels))


def flavour_message(flavour: Flavour) -> cluster_pb2.Flavour:
    return cluster_pb2.Flavour(
        name=flavour.name,
        resources=resources_message(flavour.resources),
        cluster=flavour.cluster,
        creator=flavour.creator,
        create_time=timestamp(flavour.create_time),
        update_time=timestamp(flavour.update_time),
        etag=flavour.etag,
    )


def new_flavour(message: cluster_pb2.Flavour) -> Flavour:
    """The flavour to be made. InvalidArgument names each field that cannot be."""
    flavour = given_flavour(message)
    require(flavour_violations(flavour))
    return flavour


def given_flavour(message: cluster_pb2.Flavour) -> Flavour:
    """The values that a caller gives, right or wrong; what is output only is passed over."""
    return Flavour(name=message.name, resources=resources_of(message.resources), cluster=message.cluster)


def flavour_filter(request: cluster_pb2.ListFlavoursRequest) -> FlavourFilter:
    require(
        plain_text("cluster", request.cluster, FILTER_LENGTH),
        plain_text("name_prefix", request.name_prefix, FILTER_LENGTH),
    )
    return FlavourFilter(request.cluster, request.name_prefix)


def existing_cluster(cluster: Cluster) -> cluster_pb2.ClusterEvent:
    """How a cluster stands as a watch begins."""
    return cluster_pb2.ClusterEvent(kind=event_pb2.CHANGE_KIND_EXISTING, cluster=cluster_message(cluster))


def existing_flavour(flavour: Flavour) -> cluster_pb2.FlavourEvent:
    """How a flavour stands as a watch begins."""
    return cluster_pb2.FlavourEvent(kind=event_pb2.CHANGE_KIND_EXISTING, flavour=flavour_message(flavour))


def fact(event: ClusterEvent) -> Fact:
    """The event, ready to be stored."""
    match event:
        case ClusterChanged(kind, cluster, version):
            told = cluster_pb2.ClusterEvent(kind=CHANGE_KINDS[kind], cluster=cluster_message(cluster))
            return Fact(CLUSTER_EVENT, f"cluster/{cluster.name}", version, told.SerializeToString(deterministic=True))
        case FlavourChanged(kind, flavour, version):
            tale = cluster_pb2.FlavourEvent(kind=CHANGE_KINDS[kind], flavour=flavour_message(flavour))
            return Fact(FLAVOUR_EVENT, f"flavour/{flavour.name}", version, tale.SerializeToString(deterministic=True))


def given_node(cluster: str, message: cluster_pb2.Node) -> Node:
    return Node(
        name=message.name,
        cluster=cluster,
        allocatable=resources_of(message.allocatable),
        labels=dict(message.labels),
        schedulable=message.schedulable,
        dedicated_queue=message.dedicated_queue,
    )


def _report_violations(request: cluster_pb2.ReportNodesRequest) -> Iterator[Violation]:
    if request.revision < 1:
        yield Violation("revision", f"must be at least 1, and is {request.revision}")
    if len(request.nodes) > MOST_NODES:
        yield Violation("nodes", f"must be at most {MOST_NODES}, and are {len(request.nodes)}")
    if request.base_revision and not 0 < request.base_revision < request.revision:
        yield Violation("base_revision", f"must be 0, or below the revision, and is {request.base_revision}")
    if request.gone and not request.base_revision:
        yield Violation("gone", "must be empty in a report of all machines: those that it leaves out are gone")


def _names_violations(field: str, names: Sequence[str]) -> Iterator[Violation]:
    if len(names) > MOST_CHOSEN:
        yield Violation(field, f"must be at most {MOST_CHOSEN}, and are {len(names)}")
        return
    for index, name in enumerate(names):
        yield from plain_text(f"{field}[{index}]", name, FILTER_LENGTH)
