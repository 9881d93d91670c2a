"""What an installation begins with is made once."""

from __future__ import annotations

from datetime import timedelta

from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_kit.principal import Principal, PrincipalKind
from pf_queue.accounts.domain import Lifetimes
from pf_queue.accounts.memory import MemoryAccountStore
from pf_queue.accounts.passwords import Passwords
from pf_queue.accounts.store import LOCK as ACCOUNTS_LOCK
from pf_queue.admission.memory import MemoryWorkloadStore
from pf_queue.clusters.domain import ClusterFilter, FlavourFilter
from pf_queue.clusters.memory import MemoryClusterStore, MemoryFlavourStore
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.facts import encode
from pf_queue.parts import Stores, put_together
from pf_queue.quota.memory import MemoryQueueStore
from pf_queue.seeds import CLUSTER, FLAVOURS, Seeds

ROOT = Principal(PrincipalKind.USER, "root", root=True)


async def test_what_is_deleted_does_not_come_back_and_keeps_nobody_from_starting() -> None:
    clock = SystemClock()
    database = MemoryDatabase(encode=encode, clock=clock)
    stores = Stores(
        MemoryAccountStore(), MemoryClusterStore(), MemoryFlavourStore(), MemoryQueueStore(), MemoryWorkloadStore()
    )
    lifetimes = Lifetimes(timedelta(hours=1), timedelta(days=1))
    parts = put_together(stores, passwords=Passwords(threads=1), lifetimes=lifetimes, clock=clock)
    seeds = Seeds(stores.clusters, parts.clusters, parts.flavours, parts.queues)

    assert await seeds.sow(database)
    assert not await seeds.sow(database)
    async with database.change(TREE_LOCK, ACCOUNTS_LOCK) as change:
        await parts.clusters.delete(change, CLUSTER.name, "", cascade=True)
    assert not await seeds.sow(database)
    assert await stores.clusters.clusters(database.newest, ClusterFilter(), "", 10) == []
    left = await stores.flavours.flavours(database.newest, FlavourFilter(), "", 10)
    assert [flavour.name for flavour in left] == [flavour.name for flavour in FLAVOURS]
