"""The queues of a cluster, as those who keep clusters need to know them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_queue.clusters.domain import Cluster, Pool
from pf_queue.quota.commitments import Commitments
from pf_queue.quota.service import Queues
from pf_queue.quota.store import QueueStore
from pf_queue.quota.tree import Tree


class QueueTenants:
    """Fulfils `Tenants` of clusters."""

    def __init__(self, *, store: QueueStore, queues: Queues, commitments: Commitments) -> None:
        self._store = store
        self._queues = queues
        self._commitments = commitments

    async def namespaces(self, view: View, cluster: str) -> Mapping[str, str]:
        return {queue.namespace: queue.name for queue in await self._store.in_cluster(view, cluster)}

    async def overcommitted(self, view: View, cluster: Cluster) -> bool:
        return await self._commitments.exceed(view, cluster)

    async def isolated(self, view: View, cluster: str) -> Collection[str]:
        return (await self._store.promises(view, cluster)).isolated.keys()

    async def pool(self, view: View, caller: Principal, queue: str) -> Pool:
        standing = await self._queues.get(view, caller, queue)
        cluster = standing.queue.cluster
        kin = await self._store.kin(view, cluster, queue, standing.queue.parent)
        tree = Tree(kin.queues, None)
        root = [standing.queue, *tree.above(standing.queue)][-1]
        return Pool(cluster, root.name if root.physical else "")

    async def drop_all(self, change: Change, cluster: Cluster) -> None:
        await self._queues.delete_all(change, cluster)
