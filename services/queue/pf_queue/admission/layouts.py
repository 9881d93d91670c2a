"""Reads the queues and machines of all clusters, as admission sees them."""

from __future__ import annotations

from collections.abc import Sequence

from pf_kit.unit import View
from pf_queue.admission.layout import ClusterFacts, Layout
from pf_queue.clusters.domain import Cluster, ClusterFilter, NodeFilter, NodePlace
from pf_queue.clusters.store import ClusterStore
from pf_queue.quota.store import QueueStore

ALL = 1_000_000
"""More clusters, and more machines of one, than there are."""


class StoredLayouts:
    """The layouts of what is stored."""

    def __init__(self, *, clusters: ClusterStore, queues: QueueStore) -> None:
        self._clusters = clusters
        self._queues = queues

    async def read(self, view: View) -> Layout:
        return Layout.of(await self.facts(view))

    async def facts(self, view: View) -> Sequence[ClusterFacts]:
        """All clusters."""
        clusters = await self._clusters.clusters(view, ClusterFilter(), "", ALL)
        return [await self._facts(view, cluster) for cluster in clusters]

    async def _facts(self, view: View, cluster: Cluster) -> ClusterFacts:
        chosen = NodeFilter(clusters=frozenset({cluster.name}))
        return ClusterFacts(
            name=cluster.name,
            status=cluster.status,
            reported=cluster.machines is not None,
            queues=await self._queues.in_cluster(view, cluster.name),
            nodes=await self._clusters.nodes(view, chosen, NodePlace("", ""), ALL),
        )
