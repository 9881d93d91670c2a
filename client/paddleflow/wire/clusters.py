"""Clusters, machines and flavours to and from the wire."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.field_mask_pb2 import FieldMask

from paddleflow.models.clusters import (
    Cluster,
    ClusterChanges,
    ClusterStatus,
    ClusterType,
    Flavour,
    FlavourChanges,
    Node,
)
from paddleflow.queue.v1 import cluster_pb2
from paddleflow.wire.base import EnumCodec, amounts_from_wire, amounts_to_wire, build, time_from_wire, write_changes

TYPE = EnumCodec(ClusterType, cluster_pb2.ClusterType, "CLUSTER_TYPE_")
STATUS = EnumCodec(ClusterStatus, cluster_pb2.ClusterStatus, "CLUSTER_STATUS_")

PART_BYTES = 3 * 1024 * 1024
"""The most that one message tells of machines: with room for the rest, below the 4 MiB that servers take."""
NODE_OVERHEAD = 6
"""Bytes that a message takes for a field's number and length."""


def cluster_to_wire(cluster: Cluster) -> cluster_pb2.Cluster:
    """The cluster as it is sent: without what only the server fills."""
    return build(
        cluster_pb2.Cluster,
        name=cluster.name,
        description=cluster.description,
        endpoint=cluster.endpoint,
        type=TYPE.number(cluster.type),
        version=cluster.version,
        source=cluster.source,
        setting=cluster.setting,
        namespaces=cluster.namespaces,
        credential=cluster.credential,
        status=STATUS.number(cluster.status),
        etag=cluster.etag,
    )


def cluster_from_wire(cluster: cluster_pb2.Cluster) -> Cluster:
    return Cluster(
        name=cluster.name,
        description=cluster.description,
        endpoint=cluster.endpoint,
        type=TYPE.member(cluster.type),
        version=cluster.version,
        source=cluster.source,
        setting=cluster.setting,
        namespaces=tuple(cluster.namespaces),
        status=STATUS.member(cluster.status),
        has_credential=cluster.has_credential,
        capacity=amounts_from_wire(cluster.capacity),
        node_count=cluster.node_count,
        revision=cluster.revision,
        overcommitted=cluster.overcommitted,
        create_time=time_from_wire(cluster, "create_time"),
        update_time=time_from_wire(cluster, "update_time"),
        etag=cluster.etag,
    )


def cluster_changes_to_wire(name: str, etag: str, changes: ClusterChanges) -> tuple[cluster_pb2.Cluster, FieldMask]:
    """The new values, and which fields they are for."""
    cluster = build(cluster_pb2.Cluster, name=name, etag=etag)
    return cluster, write_changes(cluster, changes, {"type": TYPE, "status": STATUS})


def node_to_wire(node: Node) -> cluster_pb2.Node:
    return build(
        cluster_pb2.Node,
        name=node.name,
        allocatable=amounts_to_wire(node.allocatable),
        labels=node.labels,
        schedulable=node.schedulable,
        dedicated_queue=node.dedicated_queue,
    )


def node_parts(nodes: Iterable[Node]) -> list[list[cluster_pb2.Node]]:
    """The machines in parts of which each fits into a message; one part without machines if there are none."""
    parts: list[list[cluster_pb2.Node]] = [[]]
    room = PART_BYTES
    for node in map(node_to_wire, nodes):
        size = node.ByteSize() + NODE_OVERHEAD
        if parts[-1] and size > room:
            parts.append([])
            room = PART_BYTES
        parts[-1].append(node)
        room -= size
    return parts


def node_from_wire(node: cluster_pb2.Node) -> Node:
    return Node(
        name=node.name,
        allocatable=amounts_from_wire(node.allocatable),
        labels=dict(node.labels),
        schedulable=node.schedulable,
        dedicated_queue=node.dedicated_queue,
        cluster=node.cluster,
    )


def flavour_to_wire(flavour: Flavour) -> cluster_pb2.Flavour:
    """The flavour as it is sent: without what only the server fills."""
    return build(
        cluster_pb2.Flavour,
        name=flavour.name,
        resources=amounts_to_wire(flavour.resources),
        cluster=flavour.cluster,
        etag=flavour.etag,
    )


def flavour_from_wire(flavour: cluster_pb2.Flavour) -> Flavour:
    return Flavour(
        name=flavour.name,
        resources=amounts_from_wire(flavour.resources),
        cluster=flavour.cluster,
        creator=flavour.creator,
        create_time=time_from_wire(flavour, "create_time"),
        update_time=time_from_wire(flavour, "update_time"),
        etag=flavour.etag,
    )


def flavour_changes_to_wire(name: str, etag: str, changes: FlavourChanges) -> tuple[cluster_pb2.Flavour, FieldMask]:
    """The new values, and which fields they are for."""
    flavour = build(cluster_pb2.Flavour, name=name, etag=etag)
    return flavour, write_changes(flavour, changes, {})
