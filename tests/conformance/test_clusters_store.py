"""What every store of clusters, machines and flavours promises, asked of each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest

from paddleflow.problems import ClusterExists, FlavourExists
from pf_kit.unit import Change, Database
from pf_queue.clusters.domain import (
    Cluster,
    ClusterFilter,
    ClusterStatus,
    ClusterType,
    Flavour,
    FlavourFilter,
    Machines,
    Node,
    NodeFilter,
    NodePlace,
    Pool,
)
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.parts import Stores
from pf_queue.resources import LARGEST, Resources
from support.stores import KINDS, opened

T = TypeVar("T")
ALL_CLUSTERS, ALL_FLAVOURS, ALL_NODES = ClusterFilter(), FlavourFilter(), NodeFilter()
NOON = datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
LATER = NOON + timedelta(seconds=1)
BARE = Cluster(name="bare", type=ClusterType.LOCAL, create_time=NOON, update_time=NOON)
FULL = Cluster(
    name="Full_1-x",
    type=ClusterType.KUBERNETES,
    description="ours\nand yours",
    endpoint="https://k8s:6443",
    software_version="1.30",
    source="cloud",
    setting='{"a": {"b": [1, 2]}}',
    namespaces=("z", "a"),
    credential=bytes(range(256)),
    status=ClusterStatus.OFFLINE,
    machines=Machines(3, Resources({"cpu": LARGEST, "gpu": 0}), {"iso": Resources({"gpu": 8})}),
    revision=2**62,
    overcommitted=True,
    create_time=NOON,
    update_time=LATER,
)
FLAVOUR = Flavour(
    name="f.1_A-b",
    resources=Resources({"cpu": 1, "memory": LARGEST, "nvidia.com/gpu": 3}),
    creator="alice",
    create_time=NOON,
    update_time=LATER,
)


@dataclass(frozen=True)
class Kept:
    database: Database
    stores: Stores

    async def change(self, work: Callable[[Change], Awaitable[T]]) -> T:
        async with self.database.change(TREE_LOCK) as change:
            return await work(change)

    async def add(self, *things: Cluster | Flavour) -> None:
        async with self.database.change(TREE_LOCK) as change:
            for thing in things:
                match thing:
                    case Cluster():
                        await self.stores.clusters.add(change, thing)
                    case Flavour():
                        await self.stores.flavours.add(change, thing)

    async def cluster(self, name: str) -> Cluster:
        cluster = await self.stores.clusters.cluster(self.database.newest, name)
        assert cluster is not None
        return cluster

    async def clusters(self, chosen: ClusterFilter = ALL_CLUSTERS, after: str = "", limit: int = 100) -> list[str]:
        return [each.name for each in await self.stores.clusters.clusters(self.database.newest, chosen, after, limit)]

    async def flavour(self, name: str) -> Flavour:
        flavour = await self.stores.flavours.flavour(self.database.newest, name)
        assert flavour is not None
        return flavour

    async def flavours(self, chosen: FlavourFilter = ALL_FLAVOURS, after: str = "", limit: int = 100) -> list[str]:
        return [each.name for each in await self.stores.flavours.flavours(self.database.newest, chosen, after, limit)]

    async def report(self, cluster: str, *nodes: Node) -> None:
        await self.change(lambda change: self.stores.clusters.set_nodes(change, cluster, nodes))

    async def nodes(self, chosen: NodeFilter = ALL_NODES, after: str = "", limit: int = 100) -> list[tuple[str, str]]:
        place = NodePlace.parse(after)
        found = await self.stores.clusters.nodes(self.database.newest, chosen, place, limit)
        return [(node.cluster, node.name) for node in found]


@pytest.fixture(params=KINDS)
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    async with opened(request) as (database, stores):
        yield Kept(database, stores)


def node(name: str, cluster: str = "bare", **fields: Any) -> Node:
    return replace(Node(name=name, cluster=cluster), **fields)


@pytest.mark.parametrize("cluster", [BARE, FULL], ids=["bare", "full"])
async def test_every_field_of_a_cluster_is_kept(kept: Kept, cluster: Cluster) -> None:
    await kept.add(cluster)
    assert replace(await kept.cluster(cluster.name), version=0) == cluster


async def test_a_change_of_a_cluster_replaces_what_can_change(kept: Kept) -> None:
    await kept.add(FULL)
    before = await kept.cluster(FULL.name)
    after = replace(BARE, name=FULL.name, update_time=LATER)
    version = await kept.change(lambda change: kept.stores.clusters.set(change, after))
    assert version > before.version
    assert await kept.cluster(FULL.name) == replace(after, version=version)


async def test_names_are_taken_once(kept: Kept) -> None:
    await kept.add(BARE, FLAVOUR)
    with pytest.raises(ClusterExists, match="a cluster 'bare' exists"):
        await kept.add(BARE)
    with pytest.raises(FlavourExists, match=r"a flavour 'f\.1_A-b' exists"):
        await kept.add(FLAVOUR)


async def test_versions_of_all_grow_also_over_removal(kept: Kept) -> None:
    versions = [
        await kept.change(lambda change: kept.stores.clusters.add(change, BARE)),
        await kept.change(lambda change: kept.stores.flavours.add(change, FLAVOUR)),
        await kept.change(lambda change: kept.stores.clusters.set(change, BARE)),
        await kept.change(lambda change: kept.stores.flavours.set(change, FLAVOUR)),
        await kept.change(lambda change: kept.stores.clusters.remove(change, BARE.name)),
        await kept.change(lambda change: kept.stores.flavours.remove(change, FLAVOUR.name)),
        await kept.change(lambda change: kept.stores.clusters.add(change, BARE)),
        await kept.change(lambda change: kept.stores.flavours.add(change, FLAVOUR)),
    ]
    assert versions == sorted(set(versions))


async def test_clusters_are_listed_by_name(kept: Kept) -> None:
    names = ["B", "_a", "a", "a-b", "b"]
    await kept.add(*(replace(BARE, name=name + "0") for name in reversed(names)), FULL)
    assert await kept.clusters() == ["B0", "Full_1-x", "_a0", "a-b0", "a0", "b0"]
    assert await kept.clusters(after="_a0", limit=2) == ["a-b0", "a0"]
    assert await kept.clusters(ClusterFilter(frozenset({"a0", "gone"}))) == ["a0"]
    assert await kept.clusters(ClusterFilter(status=ClusterStatus.OFFLINE)) == ["Full_1-x"]
    assert await kept.clusters(ClusterFilter(frozenset({"a0"}), ClusterStatus.OFFLINE)) == []


async def test_a_report_replaces_all_machines_of_its_cluster_and_no_others(kept: Kept) -> None:
    await kept.add(BARE, replace(BARE, name="other"))
    await kept.report("other", node("a", "other"))
    same = node("same", allocatable=Resources({"cpu": LARGEST}), labels={"ключ": "\\u0041"})
    await kept.report("bare", same, node("gone"), node("changed", schedulable=False))
    changed = node("changed", allocatable=Resources({"gpu": 1}), labels={"a": "b"}, dedicated_queue="iso")
    await kept.report("bare", node("new"), changed, same)
    assert await kept.nodes() == [("bare", "changed"), ("bare", "new"), ("bare", "same"), ("other", "a")]
    found = await kept.stores.clusters.nodes(kept.database.newest, NodeFilter(), NodePlace("", ""), 100)
    assert list(found[:3]) == [changed, node("new"), same]
    await kept.report("bare")
    assert await kept.nodes() == [("other", "a")]


async def test_machines_go_with_their_cluster(kept: Kept) -> None:
    await kept.add(BARE)
    await kept.report("bare", node("a"))
    await kept.change(lambda change: kept.stores.clusters.remove(change, "bare"))
    assert await kept.stores.clusters.cluster(kept.database.newest, "bare") is None
    assert await kept.nodes() == []


async def test_machines_are_listed_by_cluster_and_name(kept: Kept) -> None:
    await kept.add(BARE, replace(BARE, name="a-other"))
    await kept.report("bare", node("n2", labels={"zone": "1", "gpu": "yes"}), node("n1", labels={"zone": "1"}))
    await kept.report("a-other", node("n3", "a-other"), node("iso1", "a-other", dedicated_queue="iso"))
    assert await kept.nodes() == [("a-other", "iso1"), ("a-other", "n3"), ("bare", "n1"), ("bare", "n2")]
    assert await kept.nodes(after="a-other/n3", limit=1) == [("bare", "n1")]
    assert await kept.nodes(NodeFilter(clusters=frozenset({"bare", "gone"}))) == [("bare", "n1"), ("bare", "n2")]
    assert await kept.nodes(NodeFilter(labels={"zone": "1", "gpu": "yes"})) == [("bare", "n2")]
    assert await kept.nodes(NodeFilter(pool=Pool("a-other", ""))) == [("a-other", "n3")]
    assert await kept.nodes(NodeFilter(pool=Pool("a-other", "iso"))) == [("a-other", "iso1")]
    assert await kept.nodes(NodeFilter(clusters=frozenset({"bare"}), pool=Pool("a-other", "iso"))) == []


@pytest.mark.parametrize("cluster", ["", "bare"])
async def test_every_field_of_a_flavour_is_kept(kept: Kept, cluster: str) -> None:
    await kept.add(BARE, replace(FLAVOUR, cluster=cluster))
    assert replace(await kept.flavour(FLAVOUR.name), version=0) == replace(FLAVOUR, cluster=cluster)
    after = replace(FLAVOUR, resources=Resources({"cpu": 2}), update_time=NOON + timedelta(days=1))
    version = await kept.change(lambda change: kept.stores.flavours.set(change, after))
    assert await kept.flavour(FLAVOUR.name) == replace(after, version=version)


async def test_flavours_are_listed_by_name(kept: Kept) -> None:
    await kept.add(
        BARE,
        replace(BARE, name="other"),
        replace(FLAVOUR, name="b1", cluster="bare"),
        replace(FLAVOUR, name="b0", cluster="bare"),
        replace(FLAVOUR, name="a.x"),
        replace(FLAVOUR, name="o1", cluster="other"),
    )
    assert await kept.flavours() == ["a.x", "b0", "b1", "o1"]
    assert await kept.flavours(after="b0", limit=1) == ["b1"]
    assert await kept.flavours(FlavourFilter(cluster="bare")) == ["a.x", "b0", "b1"]
    assert await kept.flavours(FlavourFilter(name_prefix="b")) == ["b0", "b1"]
    assert await kept.flavours(FlavourFilter(name_prefix="_")) == []
    bound = await kept.stores.flavours.bound(kept.database.newest, "bare")
    assert [flavour.name for flavour in bound] == ["b0", "b1"]


async def test_a_revision_alone_makes_no_new_version(kept: Kept) -> None:
    await kept.add(FULL)
    before = await kept.cluster(FULL.name)
    await kept.change(lambda change: kept.stores.clusters.set_revision(change, FULL.name, 2**62 + 1))
    assert await kept.cluster(FULL.name) == replace(before, revision=2**62 + 1)


async def test_flavours_are_known_by_their_maker_which_can_change(kept: Kept) -> None:
    await kept.add(
        *(replace(FLAVOUR, name=name, creator=maker) for name, maker in (("b", "bo"), ("a", "bo"), ("c", "al")))
    )
    made = await kept.stores.flavours.made_by(kept.database.newest, "bo")
    assert [flavour.name for flavour in made] == ["a", "b"]
    await kept.change(lambda change: kept.stores.flavours.set(change, replace(made[0], creator="root")))
    assert (await kept.flavour("a")).creator == "root"
    assert await kept.stores.flavours.made_by(kept.database.newest, "none") == []
