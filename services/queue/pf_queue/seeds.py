"""What an installation begins with, so that there is something to use: a cluster, a queue and three flavours."""

from __future__ import annotations

from dataclasses import dataclass

from pf_kit.principal import Principal, PrincipalKind
from pf_kit.unit import Change, Database
from pf_queue.accounts.domain import ROOT
from pf_queue.clusters.domain import Cluster, ClusterType, Flavour
from pf_queue.clusters.flavours import Flavours
from pf_queue.clusters.service import Clusters
from pf_queue.clusters.store import TREE_LOCK, ClusterStore
from pf_queue.quota.domain import Queue, QuotaType
from pf_queue.quota.service import Queues
from pf_queue.resources import Resources

GI = 2**30
GPU = "nvidia.com/gpu"
CLUSTER = Cluster(name="default-cluster", type=ClusterType.LOCAL, description="This machine.")
QUEUE = Queue(
    name="default-queue",
    cluster=CLUSTER.name,
    quota_type=QuotaType.CAPABILITY,
    max=Resources({"cpu": 20_000, "memory": 20 * GI}),
)
FLAVOURS = (
    Flavour(name="flavour1", resources=Resources({"cpu": 1_000, "memory": GI})),
    Flavour(name="flavour2", resources=Resources({"cpu": 4_000, "memory": 8 * GI, GPU: 1})),
    Flavour(name="flavour3", resources=Resources({"cpu": 4_000, "memory": 8 * GI, GPU: 2})),
)
"""The names and amounts are those of PaddleFlow 1."""
_ROOT = Principal(PrincipalKind.USER, ROOT, root=True)


@dataclass(frozen=True, slots=True)
class Seeds:
    """Makes it."""

    store: ClusterStore
    clusters: Clusters
    flavours: Flavours
    queues: Queues

    async def sow(self, database: Database) -> bool:
        """Makes all of it at the first start, once and for all: what is deleted later stays deleted.

        Several instances may start at once: one of them makes it, and the others are told False.
        """
        async with database.change(TREE_LOCK) as change:
            if not await self.store.begin(change):
                return False
            await self._sow(change)
            return True

    async def _sow(self, change: Change) -> None:
        await self.clusters.create(change, CLUSTER)
        await self.queues.create(change, QUEUE)
        for flavour in FLAVOURS:
            await self.flavours.create(change, _ROOT, flavour)
