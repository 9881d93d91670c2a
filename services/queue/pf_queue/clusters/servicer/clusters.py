"""ClusterService on the wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from paddleflow.queue.v1 import cluster_pb2, cluster_pb2_grpc
from pf_kit.call import current_call
from pf_kit.events import Event
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.unit import Change, Database, View
from pf_kit.watch import Watches
from pf_queue.accounts.store import LOCK as ACCOUNTS_LOCK
from pf_queue.clusters.convert import (
    CLUSTER_EVENT,
    changed_cluster,
    cluster_filter,
    cluster_message,
    credential_of,
    existing_cluster,
    new_cluster,
    node_filter,
    node_message,
    report_of,
    visible_to,
)
from pf_queue.clusters.domain import Cluster, ClusterFilter, NodePlace
from pf_queue.clusters.service import Clusters
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.clusters.vault import Vault

ALL = 100_000
"""More clusters than there are."""


class ClusterServicer(cluster_pb2_grpc.ClusterServiceServicer):
    """Keeps the clusters and their machines."""

    def __init__(
        self,
        *,
        database: Database,
        mutations: Mutations,
        lists: Lists,
        watches: Watches,
        clusters: Clusters,
        vault: Vault,
    ) -> None:
        self._database = database
        self._mutations = mutations
        self._lists = lists
        self._watches = watches
        self._clusters = clusters
        self._vault = vault

    async def CreateCluster(
        self, request: cluster_pb2.CreateClusterRequest, _context: object
    ) -> cluster_pb2.CreateClusterResponse:
        draft = self._sealed(new_cluster(request.cluster), request.cluster)

        async def work(change: Change) -> cluster_pb2.CreateClusterResponse:
            cluster = await self._clusters.create(change, draft)
            return cluster_pb2.CreateClusterResponse(cluster=cluster_message(cluster))

        return await self._mutations.run(
            request, cluster_pb2.CreateClusterResponse, locks=(TREE_LOCK,), subject=f"cluster/{draft.name}", work=work
        )

    async def GetCluster(
        self, request: cluster_pb2.GetClusterRequest, _context: object
    ) -> cluster_pb2.GetClusterResponse:
        cluster = await self._clusters.get(self._database.newest, request.name)
        return cluster_pb2.GetClusterResponse(cluster=visible_to(current_call().principal, cluster_message(cluster)))

    async def ListClusters(
        self, request: cluster_pb2.ListClustersRequest, _context: object
    ) -> cluster_pb2.ListClustersResponse:
        view, caller, chosen = self._database.newest, current_call().principal, cluster_filter(request)
        page = await self._lists.page(
            request,
            lambda after, limit: self._clusters.page(view, chosen, after, limit),
            lambda cluster: cluster.name,
        )
        clusters = [visible_to(caller, cluster_message(cluster)) for cluster in page.things]
        return cluster_pb2.ListClustersResponse(clusters=clusters, next_page_token=page.next_token)

    async def UpdateCluster(
        self, request: cluster_pb2.UpdateClusterRequest, _context: object
    ) -> cluster_pb2.UpdateClusterResponse:
        given, mask = self._sealed(changed_cluster(request), request.cluster), request.update_mask.paths

        async def work(change: Change) -> cluster_pb2.UpdateClusterResponse:
            cluster = await self._clusters.update(change, given, request.cluster.etag, mask)
            return cluster_pb2.UpdateClusterResponse(cluster=cluster_message(cluster))

        return await self._mutations.run(
            request, cluster_pb2.UpdateClusterResponse, locks=(TREE_LOCK,), subject=f"cluster/{given.name}", work=work
        )

    async def DeleteCluster(
        self, request: cluster_pb2.DeleteClusterRequest, _context: object
    ) -> cluster_pb2.DeleteClusterResponse:
        async def work(change: Change) -> cluster_pb2.DeleteClusterResponse:
            await self._clusters.delete(change, request.name, request.etag, cascade=request.cascade)
            return cluster_pb2.DeleteClusterResponse()

        locks, subject = (ACCOUNTS_LOCK, TREE_LOCK), f"cluster/{request.name}"
        return await self._mutations.run(
            request, cluster_pb2.DeleteClusterResponse, locks=locks, subject=subject, work=work
        )

    async def ReportNodes(
        self, request: cluster_pb2.ReportNodesRequest, _context: object
    ) -> cluster_pb2.ReportNodesResponse:
        # In a thread: the machines of a large cluster take a while to read, and other calls go on meanwhile.
        report = await asyncio.to_thread(report_of, request)

        async def work(change: Change) -> cluster_pb2.ReportNodesResponse:
            cluster = await self._clusters.report(change, report)
            return cluster_pb2.ReportNodesResponse(cluster=cluster_message(cluster))

        return await self._mutations.run(
            request,
            cluster_pb2.ReportNodesResponse,
            locks=(TREE_LOCK,),
            subject=f"cluster/{request.cluster}",
            work=work,
        )

    async def ListNodes(self, request: cluster_pb2.ListNodesRequest, _context: object) -> cluster_pb2.ListNodesResponse:
        view, caller, chosen = self._database.newest, current_call().principal, node_filter(request)
        page = await self._lists.page(
            request,
            lambda after, limit: self._clusters.nodes(
                view, caller, request.queue, chosen, NodePlace.parse(after), limit
            ),
            lambda node: str(NodePlace(node.cluster, node.name)),
        )
        return cluster_pb2.ListNodesResponse(nodes=map(node_message, page.things), next_page_token=page.next_token)

    async def WatchClusters(
        self, request: cluster_pb2.WatchClustersRequest, _context: object
    ) -> AsyncIterator[cluster_pb2.WatchClustersResponse]:
        caller = current_call().principal
        async for page in self._watches.watch(request.resume_token, existing=self._existing, changes=self._changes):
            for event in page.messages:
                visible_to(caller, event.cluster)
            yield cluster_pb2.WatchClustersResponse(
                events=page.messages, resume_token=page.resume_token, bookmark=page.bookmark
            )

    async def _existing(self, view: View) -> Sequence[cluster_pb2.ClusterEvent]:
        return [existing_cluster(cluster) for cluster in await self._clusters.page(view, ClusterFilter(), "", ALL)]

    async def _changes(self, event: Event) -> Sequence[cluster_pb2.ClusterEvent]:
        return [cluster_pb2.ClusterEvent.FromString(event.fact.payload)] if event.fact.type == CLUSTER_EVENT else []

    def _sealed(self, cluster: Cluster, message: cluster_pb2.Cluster) -> Cluster:
        return replace(cluster, credential=self._vault.seal(cluster.name, credential_of(message)))
