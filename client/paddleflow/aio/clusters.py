"""Clusters, their machines, and flavours."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Unpack

from paddleflow.aio.pages import every
from paddleflow.aio.session import Session
from paddleflow.aio.watch import watch
from paddleflow.models.clusters import (
    Cluster,
    ClusterChanges,
    ClusterFilter,
    ClusterStatus,
    Flavour,
    FlavourChanges,
    FlavourFilter,
    Node,
    NodeFilter,
)
from paddleflow.models.pages import Page
from paddleflow.models.watches import Change, WatchItem
from paddleflow.queue.v1 import cluster_pb2, cluster_pb2_grpc
from paddleflow.wire.audit import CHANGE_KIND
from paddleflow.wire.base import build
from paddleflow.wire.clusters import (
    STATUS,
    cluster_changes_to_wire,
    cluster_from_wire,
    cluster_to_wire,
    flavour_changes_to_wire,
    flavour_from_wire,
    flavour_to_wire,
    node_from_wire,
    node_parts,
)


class Clusters:
    """Sets of machines behind one runtime each. Changes are for root, reports of machines for runtimes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stub: cluster_pb2_grpc.ClusterServiceAsyncStub = cluster_pb2_grpc.ClusterServiceStub(session.channel)

    async def create(self, cluster: Cluster, *, request_id: str = "") -> Cluster:
        """Adds a cluster; returns it as the server completed it."""
        request = build(cluster_pb2.CreateClusterRequest, cluster=cluster_to_wire(cluster))
        reply = await self._session.change(self._stub.CreateCluster, request, request_id)
        return cluster_from_wire(reply.cluster)

    async def get(self, name: str) -> Cluster:
        reply = await self._session.call(self._stub.GetCluster, build(cluster_pb2.GetClusterRequest, name=name))
        return cluster_from_wire(reply.cluster)

    def list(self, **chosen: Unpack[ClusterFilter]) -> AsyncIterator[Cluster]:
        """The clusters, by name; fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    async def page(self, size: int = 0, token: str = "", **chosen: Unpack[ClusterFilter]) -> Page[Cluster]:
        """One page of the list: at most `size` clusters (0: as many as the server likes) from the token on."""
        request = build(
            cluster_pb2.ListClustersRequest,
            names=chosen.get("names", ()),
            status=STATUS.number(chosen.get("status", ClusterStatus.UNSPECIFIED)),
            page_size=size,
            page_token=token,
        )
        reply = await self._session.call(self._stub.ListClusters, request)
        return Page([cluster_from_wire(cluster) for cluster in reply.clusters], reply.next_page_token)

    async def update(
        self, name: str, *, etag: str = "", request_id: str = "", **changes: Unpack[ClusterChanges]
    ) -> Cluster:
        """Changes the fields given; with an etag, only if the cluster has not changed since it was read."""
        cluster, mask = cluster_changes_to_wire(name, etag, changes)
        request = build(cluster_pb2.UpdateClusterRequest, cluster=cluster, update_mask=mask)
        reply = await self._session.change(self._stub.UpdateCluster, request, request_id)
        return cluster_from_wire(reply.cluster)

    async def delete(self, name: str, *, cascade: bool = False, etag: str = "", request_id: str = "") -> None:
        """Removes a cluster and its machines; with `cascade` also its queues, their grants and its flavours."""
        request = build(cluster_pb2.DeleteClusterRequest, name=name, etag=etag, cascade=cascade)
        await self._session.change(self._stub.DeleteCluster, request, request_id)

    async def report_nodes(
        self, cluster: str, revision: int, nodes: Iterable[Node], *, request_id: str = ""
    ) -> Cluster:
        """Replaces what is known of the cluster's machines; the revision grows with each report.

        Machines that do not fit into one message go in several. Each adds to the one before and counts the revision
        on, and until the last has arrived the cluster has fewer; the cluster returned tells the revision reached.
        """
        first, *others = node_parts(nodes)
        request = build(cluster_pb2.ReportNodesRequest, cluster=cluster, revision=revision, nodes=first)
        reply = await self._session.change(self._stub.ReportNodes, request, request_id)
        for later, part in enumerate(others, start=revision + 1):
            request = build(
                cluster_pb2.ReportNodesRequest,
                cluster=cluster,
                revision=later,
                base_revision=later - 1,
                nodes=part,
            )
            part_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{request_id}/{later}").hex if request_id else ""
            reply = await self._session.change(self._stub.ReportNodes, request, part_id)
        return cluster_from_wire(reply.cluster)

    def nodes(self, **chosen: Unpack[NodeFilter]) -> AsyncIterator[Node]:
        """The machines, by cluster and name; fetches page after page."""
        return every(lambda size, token: self.node_page(size, token, **chosen))

    async def node_page(self, size: int = 0, token: str = "", **chosen: Unpack[NodeFilter]) -> Page[Node]:
        """One page of the machines: at most `size` (0: as many as the server likes) from the token on."""
        request = build(
            cluster_pb2.ListNodesRequest,
            clusters=chosen.get("clusters", ()),
            queue=chosen.get("queue", ""),
            labels=chosen.get("labels"),
            page_size=size,
            page_token=token,
        )
        reply = await self._session.call(self._stub.ListNodes, request)
        return Page([node_from_wire(node) for node in reply.nodes], reply.next_page_token)

    def watch(self, *, resume_token: str = "") -> AsyncIterator[WatchItem[Cluster]]:
        """The clusters as they are, then every change, for ever; resumes by itself when the stream breaks."""
        request = build(cluster_pb2.WatchClustersRequest, resume_token=resume_token)
        return watch(self._session, self._stub.WatchClusters, request, _cluster_changes)


class Flavours:
    """Named bundles of resources. Whoever made one may change it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stub: cluster_pb2_grpc.FlavourServiceAsyncStub = cluster_pb2_grpc.FlavourServiceStub(session.channel)

    async def create(self, flavour: Flavour, *, request_id: str = "") -> Flavour:
        """Adds a flavour."""
        request = build(cluster_pb2.CreateFlavourRequest, flavour=flavour_to_wire(flavour))
        reply = await self._session.change(self._stub.CreateFlavour, request, request_id)
        return flavour_from_wire(reply.flavour)

    async def get(self, name: str) -> Flavour:
        reply = await self._session.call(self._stub.GetFlavour, build(cluster_pb2.GetFlavourRequest, name=name))
        return flavour_from_wire(reply.flavour)

    def list(self, **chosen: Unpack[FlavourFilter]) -> AsyncIterator[Flavour]:
        """The flavours, by name; fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    async def page(self, size: int = 0, token: str = "", **chosen: Unpack[FlavourFilter]) -> Page[Flavour]:
        """One page of the list: at most `size` flavours (0: as many as the server likes) from the token on."""
        request = build(cluster_pb2.ListFlavoursRequest, page_size=size, page_token=token, **chosen)
        reply = await self._session.call(self._stub.ListFlavours, request)
        return Page([flavour_from_wire(flavour) for flavour in reply.flavours], reply.next_page_token)

    async def update(
        self, name: str, *, etag: str = "", request_id: str = "", **changes: Unpack[FlavourChanges]
    ) -> Flavour:
        """Changes the fields given; with an etag, only if the flavour has not changed since it was read."""
        flavour, mask = flavour_changes_to_wire(name, etag, changes)
        request = build(cluster_pb2.UpdateFlavourRequest, flavour=flavour, update_mask=mask)
        reply = await self._session.change(self._stub.UpdateFlavour, request, request_id)
        return flavour_from_wire(reply.flavour)

    async def delete(self, name: str, *, etag: str = "", request_id: str = "") -> None:
        """Removes a flavour."""
        request = build(cluster_pb2.DeleteFlavourRequest, name=name, etag=etag)
        await self._session.change(self._stub.DeleteFlavour, request, request_id)

    def watch(self, *, resume_token: str = "") -> AsyncIterator[WatchItem[Flavour]]:
        """The flavours as they are, then every change, for ever; resumes by itself when the stream breaks."""
        request = build(cluster_pb2.WatchFlavoursRequest, resume_token=resume_token)
        return watch(self._session, self._stub.WatchFlavours, request, _flavour_changes)


def _cluster_changes(message: cluster_pb2.WatchClustersResponse) -> Sequence[Change[Cluster]]:
    return [Change(CHANGE_KIND.member(event.kind), cluster_from_wire(event.cluster)) for event in message.events]


def _flavour_changes(message: cluster_pb2.WatchFlavoursResponse) -> Sequence[Change[Flavour]]:
    return [Change(CHANGE_KIND.member(event.kind), flavour_from_wire(event.flavour)) for event in message.events]
