"""Whether a cluster's machines can keep what its queues are guaranteed."""

from __future__ import annotations

from dataclasses import replace

from pf_kit.changes import ChangeKind
from pf_kit.unit import Change, View
from pf_queue.clusters.domain import Cluster, ClusterChanged
from pf_queue.clusters.store import ClusterStore
from pf_queue.quota.rules import overcommitted
from pf_queue.quota.store import QueueStore


class Commitments:
    """Watches over the guarantees of the queues at the top."""

    def __init__(self, *, queues: QueueStore, clusters: ClusterStore) -> None:
        self._queues = queues
        self._clusters = clusters

    async def exceed(self, view: View, cluster: Cluster) -> bool:
        """True if the guarantees of the cluster's queues are more than its machines."""
        if cluster.machines is None:
            return False
        return overcommitted(await self._queues.promises(view, cluster.name), cluster.machines)

    async def settle(self, change: Change, cluster: Cluster) -> None:
        """Makes the cluster say whether it is overcommitted, after its queues have changed."""
        if await self.exceed(change, cluster) == cluster.overcommitted:
            return
        turned = replace(cluster, overcommitted=not cluster.overcommitted, update_time=change.time)
        version = await self._clusters.set(change, turned)
        change.emit(ClusterChanged(ChangeKind.UPDATED, replace(turned, version=version), version))
