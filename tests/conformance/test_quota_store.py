"""What every store of queues promises, asked of each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest

from paddleflow.problems import QueueExists
from pf_kit.unit import Change, Database
from pf_queue.clusters.domain import Cluster, ClusterType, Machines
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.parts import Stores
from pf_queue.quota.domain import (
    Isolation,
    OrderPolicy,
    PreemptionPolicy,
    Promises,
    Queue,
    QueueFilter,
    QueueState,
    QuotaType,
    Standing,
)
from pf_queue.resources import LARGEST, Resources
from support.stores import KINDS, opened
from support.trees import CLUSTER, machines, queue

T = TypeVar("T")
ALL = QueueFilter()
NOON = datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
FULL = Queue(
    name="full",
    cluster=CLUSTER,
    namespace="space",
    parent="top",
    min=Resources({"cpu": 1, "nvidia.com/gpu": 0}),
    max=Resources({"cpu": LARGEST, "memory": 2**53 + 1}),
    lend_limit=Resources({"cpu": 0}),
    weight=1_000_000,
    priority=-1_000,
    preemption_policy=PreemptionPolicy.NEVER,
    order_policy=OrderPolicy.STRICT_FIFO,
    max_jobs=7,
    max_per_user=Resources({"cpu": 5}),
    max_jobs_per_user=3,
    labels={"stage": "prod", "ключ": "значение", '"quoted"': "{}"},
    state=QueueState.DRAINING,
    create_time=NOON,
    update_time=NOON + timedelta(microseconds=1),
)


@dataclass(frozen=True)
class Kept:
    database: Database
    stores: Stores

    async def change(self, work: Callable[[Change], Awaitable[T]]) -> T:
        async with self.database.change(TREE_LOCK) as change:
            return await work(change)

    async def add(self, *queues: Queue) -> None:
        async with self.database.change(TREE_LOCK) as change:
            for each in queues:
                await self.stores.queues.add(change, each)

    async def set_machines(self, reported: Machines) -> None:
        cluster = await self.stores.clusters.cluster(self.database.newest, CLUSTER)
        assert cluster is not None
        await self.change(
            lambda change: self.stores.clusters.set(change, replace(cluster, machines=reported, revision=1))
        )

    async def get(self, name: str) -> Standing:
        standing = await self.stores.queues.standing(self.database.newest, name)
        assert standing is not None
        return standing

    async def names(self, chosen: QueueFilter = ALL, after: str = "", limit: int = 100) -> list[str]:
        found = await self.stores.queues.page(self.database.newest, chosen, after, limit)
        return [standing.queue.name for standing in found]

    async def kin(self, name: str, parent: str) -> list[str]:
        found = await self.stores.queues.kin(self.database.newest, CLUSTER, name, parent)
        assert found.beside.parent == parent
        return sorted(each.name for each in found.queues)

    async def promises(self, cluster: str) -> Promises:
        return await self.stores.queues.promises(self.database.newest, cluster)

    async def beside(self, name: str, parent: str) -> Resources:
        return (await self.stores.queues.kin(self.database.newest, CLUSTER, name, parent)).beside.guaranteed


@pytest.fixture(params=KINDS)
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    async with opened(request) as (database, stores):
        async with database.change(TREE_LOCK) as change:
            for name in (CLUSTER, "other"):
                await stores.clusters.add(
                    change, Cluster(name=name, type=ClusterType.LOCAL, create_time=NOON, update_time=NOON)
                )
        yield Kept(database, stores)


async def test_every_field_is_kept(kept: Kept) -> None:
    await kept.add(queue("top", min={"cpu": 1}), FULL)
    stored = (await kept.get("full")).queue
    assert replace(stored, version=0) == FULL


@pytest.mark.parametrize(
    "fields",
    [{"quota_type": QuotaType.CAPABILITY}, {"isolation": Isolation.PHYSICAL}],
)
async def test_every_kind_is_kept(kept: Kept, fields: dict[str, QuotaType | Isolation]) -> None:
    await kept.add(queue("kind", **fields))
    assert replace((await kept.get("kind")).queue, version=0) == queue("kind", **fields)


async def test_a_change_replaces_what_can_change(kept: Kept) -> None:
    await kept.add(queue("top"), replace(FULL, parent=""))
    before = (await kept.get("full")).queue
    after = replace(
        before,
        parent="top",
        min=Resources(),
        max=Resources({"cpu": 9}),
        lend_limit=Resources({"cpu": 1}),
        weight=1,
        priority=1_000,
        preemption_policy=PreemptionPolicy.RECLAIM_ONLY,
        order_policy=OrderPolicy.BEST_EFFORT,
        max_jobs=0,
        max_per_user=Resources(),
        max_jobs_per_user=0,
        labels={},
        state=QueueState.CLOSED,
        update_time=NOON + timedelta(days=1),
    )
    version = await kept.change(lambda change: kept.stores.queues.set(change, after))
    assert version > before.version
    assert (await kept.get("full")).queue == replace(after, version=version)


async def test_a_name_is_taken_once(kept: Kept) -> None:
    await kept.add(queue("one"))
    with pytest.raises(QueueExists, match="a queue 'one' exists"):
        await kept.add(queue("one", cluster="other"))
    assert (await kept.get("one")).queue.cluster == CLUSTER


async def test_versions_grow_also_over_removal(kept: Kept) -> None:
    versions = [await kept.change(lambda change: kept.stores.queues.add(change, queue("one")))]
    versions.append(await kept.change(lambda change: kept.stores.queues.set(change, queue("one", weight=5))))
    assert (await kept.get("one")).queue.version == versions[-1]
    versions.append(await kept.change(lambda change: kept.stores.queues.remove(change, "one")))
    assert await kept.stores.queues.standing(kept.database.newest, "one") is None
    versions.append(await kept.change(lambda change: kept.stores.queues.add(change, queue("one"))))
    assert versions == sorted(set(versions))


async def test_all_queues_of_a_cluster_go_together(kept: Kept) -> None:
    await kept.add(queue("top", min={"cpu": 3}), queue("mid", "top", min={"cpu": 2}), queue("x", cluster="other"))
    last = (await kept.get("x")).queue.version
    versions = await kept.change(lambda change: kept.stores.queues.remove_all(change, CLUSTER))
    assert versions.keys() == {"top", "mid"}
    assert min(versions.values()) > last
    assert len(set(versions.values())) == 2
    assert await kept.names() == ["x"]
    assert await kept.promises(CLUSTER) == Promises(Resources(), {})
    assert await kept.change(lambda change: kept.stores.queues.remove_all(change, CLUSTER)) == {}


async def test_what_is_undone_was_never_there(kept: Kept) -> None:
    async def fail_at_last(change: Change) -> None:
        await kept.stores.queues.add(change, queue("two", "one"))
        await kept.stores.queues.set(change, queue("one", weight=5))
        raise ZeroDivisionError

    await kept.add(queue("one"))
    with pytest.raises(ZeroDivisionError):
        await kept.change(fail_at_last)
    assert await kept.names() == ["one"]
    assert (await kept.get("one")).queue.weight == 100


async def test_ceilings_come_from_above_and_from_the_machines(kept: Kept) -> None:
    await kept.add(
        queue("top", max={"cpu": 20}),
        queue("mid", "top", max={"memory": 30}),
        queue("low", "mid", max={"cpu": 10}),
        queue("iso", isolation=Isolation.PHYSICAL, min={"gpu": 1}, max={"gpu": 1}),
        queue("in-iso", "iso"),
    )
    assert (await kept.get("low")).effective_max == {"cpu": 10, "memory": 30}
    assert (await kept.get("top")).effective_max == {"cpu": 20}
    await kept.set_machines(machines({"iso": {"gpu": 8}}, cpu=5, disk=50))
    assert (await kept.get("low")).effective_max == {"cpu": 10, "memory": 30, "disk": 50, "gpu": 0}
    assert (await kept.get("top")).effective_max == {"cpu": 20, "disk": 50, "gpu": 0}
    assert (await kept.get("in-iso")).effective_max == {"gpu": 1}


async def test_lists_are_in_the_order_of_bytes_and_go_on_after_a_name(kept: Kept) -> None:
    names = ["a", "a-b", "a0", "aa", "b", "z9"]
    await kept.add(*(queue(name) for name in reversed(names)))
    assert await kept.names() == names
    assert await kept.names(limit=2) == ["a", "a-b"]
    assert await kept.names(after="a-b", limit=2) == ["a0", "aa"]
    assert await kept.names(after="zz") == []


async def test_filters_must_all_match(kept: Kept) -> None:
    await kept.add(
        queue("top", labels={"stage": "prod", "team": "a"}, state=QueueState.HELD),
        queue("top-1", "top", labels={"stage": "prod"}, namespace="space"),
        queue("top-2", "top", labels={"stage": "test"}, state=QueueState.CLOSED),
        queue("else", cluster="other"),
    )
    assert await kept.names(QueueFilter(cluster="other")) == ["else"]
    assert await kept.names(QueueFilter(namespace="space")) == ["top-1"]
    assert await kept.names(QueueFilter(parent="top")) == ["top-1", "top-2"]
    assert await kept.names(QueueFilter(states=frozenset({QueueState.HELD, QueueState.CLOSED}))) == ["top", "top-2"]
    assert await kept.names(QueueFilter(name_prefix="top-")) == ["top-1", "top-2"]
    assert await kept.names(QueueFilter(name_prefix="%")) == []
    assert await kept.names(QueueFilter(labels={"stage": "prod"})) == ["top", "top-1"]
    assert await kept.names(QueueFilter(labels={"stage": "prod", "team": "a"})) == ["top"]
    assert await kept.names(QueueFilter(names=frozenset({"top", "else", "gone"}))) == ["else", "top"]
    assert await kept.names(QueueFilter(names=frozenset())) == []
    assert await kept.names(QueueFilter(parent="top", labels={"stage": "test"}, namespace="space")) == []


async def test_kin_are_those_above_and_below(kept: Kept) -> None:
    await kept.add(
        queue("r1"),
        queue("r2"),
        queue("a", "r1"),
        queue("b", "r1"),
        queue("b1", "b"),
        queue("b2", "b"),
        queue("b11", "b1"),
        queue("x", cluster="other"),
        queue("x1", "x", cluster="other"),
    )
    assert await kept.kin("b1", "b") == ["b", "b1", "b11", "r1"]
    assert await kept.kin("b", "r1") == ["b", "b1", "b11", "b2", "r1"]
    assert await kept.kin("b", "") == ["b", "b1", "b11", "b2", "r1"]
    assert await kept.kin("new", "a") == ["a", "r1"]
    assert await kept.kin("new", "") == []
    assert await kept.kin("new", "x") == []
    assert await kept.kin("x", "") == ["x", "x1"]
    assert await kept.kin("b11", "") == ["b", "b1", "b11", "r1"]
    assert await kept.kin("b11", "a") == ["a", "b", "b1", "b11", "r1"]


async def test_of_those_beside_the_guarantees_are_summed_up(kept: Kept) -> None:
    await kept.add(
        queue("r1", min={"cpu": 9, "memory": 5}),
        queue("r2", min={"cpu": LARGEST}),
        queue("r3", min={"cpu": LARGEST, "gpu": 0}),
        queue("iso", isolation=Isolation.PHYSICAL, min={"cpu": 7}, max={"cpu": 7}),
        queue("a", "r1", min={"cpu": 2}),
        queue("b", "r1", min={"cpu": 3}),
        queue("c", "r1", min={"cpu": 4}),
        queue("x", cluster="other", min={"cpu": 1}),
    )
    assert await kept.beside("a", "r1") == {"cpu": 7}
    assert await kept.beside("new", "r1") == {"cpu": 9}
    assert await kept.beside("r2", "") == {"cpu": LARGEST + 9, "memory": 5}
    assert await kept.beside("a", "") == {"cpu": 2 * LARGEST}
    assert await kept.beside("new", "a") == {}


async def test_promises_are_those_to_the_queues_at_the_top(kept: Kept) -> None:
    assert await kept.promises(CLUSTER) == Promises(Resources(), {})
    await kept.add(
        queue("r1", min={"cpu": 9, "memory": 5}),
        queue("r2", min={"cpu": 1}),
        queue("a", "r1", min={"cpu": 2}),
        queue("iso", isolation=Isolation.PHYSICAL, min={"cpu": 7}, max={"cpu": 7}),
        queue("x", cluster="other", min={"cpu": 1}),
    )
    assert await kept.promises(CLUSTER) == Promises(Resources({"cpu": 10, "memory": 5}), {"iso": Resources({"cpu": 7})})
    assert await kept.promises("none") == Promises(Resources(), {})


async def test_queues_of_a_cluster_come_after_those_above_them(kept: Kept) -> None:
    await kept.add(queue("z"), queue("m", "z"), queue("a", "m"), queue("b"), queue("x", cluster="other"))
    found = await kept.stores.queues.in_cluster(kept.database.newest, CLUSTER)
    assert [each.name for each in found] == ["b", "z", "m", "a"]
    assert await kept.stores.queues.in_cluster(kept.database.newest, "none") == []
