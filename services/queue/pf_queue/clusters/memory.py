"""Clusters, machines and flavours in memory, for tests: as durable as the process, and every list is sorted anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paddleflow.problems import ClusterExists, FlavourExists
from pf_kit.memory import tables
from pf_kit.unit import Change, View
from pf_queue.clusters.domain import (
    Cluster,
    ClusterFilter,
    Flavour,
    FlavourFilter,
    Node,
    NodeFilter,
    NodePlace,
    Pool,
)


def clusters_of(view: View) -> dict[str, Cluster]:
    return tables(view).table("clusters")


def nodes_of(view: View) -> dict[str, Mapping[str, Node]]:
    """The machines by cluster and name."""
    return tables(view).table("nodes")


def flavours_of(view: View) -> dict[str, Flavour]:
    return tables(view).table("flavours")


def next_version(change: Change) -> int:
    """A number above all it gave before, for a cluster, a flavour or a queue."""
    numbers: dict[str, int] = tables(change).table("numbers")
    numbers["tree"] = numbers.get("tree", 0) + 1
    return numbers["tree"]


def matches(chosen: NodeFilter, node: Node) -> bool:
    return (
        (not chosen.clusters or node.cluster in chosen.clusters)
        and (chosen.pool is None or Pool(node.cluster, node.dedicated_queue) == chosen.pool)
        and chosen.labels.items() <= node.labels.items()
    )


class MemoryClusterStore:
    """Fulfils `ClusterStore` over a `MemoryDatabase`."""

    async def cluster(self, view: View, name: str) -> Cluster | None:
        return clusters_of(view).get(name)

    async def clusters(self, view: View, chosen: ClusterFilter, after: str, limit: int) -> Sequence[Cluster]:
        found = [cluster for name, cluster in sorted(clusters_of(view).items()) if name > after]
        found = [cluster for cluster in found if not chosen.names or cluster.name in chosen.names]
        return [cluster for cluster in found if chosen.status in (None, cluster.status)][:limit]

    async def add(self, change: Change, cluster: Cluster) -> int:
        if cluster.name in clusters_of(change):
            raise ClusterExists(f"a cluster {cluster.name!r} exists")
        return await self.set(change, cluster)

    async def begin(self, change: Change) -> bool:
        begun: dict[str, bool] = tables(change).table("begun")
        first = not begun
        begun["begun"] = True
        return first

    async def set(self, change: Change, cluster: Cluster) -> int:
        version = next_version(change)
        clusters_of(change)[cluster.name] = replace(cluster, version=version)
        return version

    async def set_revision(self, change: Change, name: str, revision: int) -> None:
        clusters = clusters_of(change)
        clusters[name] = replace(clusters[name], revision=revision)

    async def remove(self, change: Change, name: str) -> int:
        del clusters_of(change)[name]
        nodes_of(change).pop(name, None)
        return next_version(change)

    async def nodes(self, view: View, chosen: NodeFilter, after: NodePlace, limit: int) -> Sequence[Node]:
        places = {NodePlace(node.cluster, node.name): node for of in nodes_of(view).values() for node in of.values()}
        found = [node for place, node in sorted(places.items()) if place > after and matches(chosen, node)]
        return found[:limit]

    async def set_nodes(self, change: Change, cluster: str, nodes: Sequence[Node]) -> None:
        nodes_of(change)[cluster] = {node.name: node for node in nodes}


class MemoryFlavourStore:
    """Fulfils `FlavourStore` over a `MemoryDatabase`."""

    async def flavour(self, view: View, name: str) -> Flavour | None:
        return flavours_of(view).get(name)

    async def flavours(self, view: View, chosen: FlavourFilter, after: str, limit: int) -> Sequence[Flavour]:
        found = [flavour for name, flavour in sorted(flavours_of(view).items()) if name > after]
        found = [flavour for flavour in found if not chosen.cluster or flavour.cluster in ("", chosen.cluster)]
        return [flavour for flavour in found if flavour.name.startswith(chosen.name_prefix)][:limit]

    async def bound(self, view: View, cluster: str) -> Sequence[Flavour]:
        return [flavour for _, flavour in sorted(flavours_of(view).items()) if flavour.cluster == cluster]

    async def made_by(self, view: View, creator: str) -> Sequence[Flavour]:
        return [flavour for _, flavour in sorted(flavours_of(view).items()) if flavour.creator == creator]

    async def add(self, change: Change, flavour: Flavour) -> int:
        if flavour.name in flavours_of(change):
            raise FlavourExists(f"a flavour {flavour.name!r} exists")
        return await self.set(change, flavour)

    async def set(self, change: Change, flavour: Flavour) -> int:
        version = next_version(change)
        flavours_of(change)[flavour.name] = replace(flavour, version=version)
        return version

    async def remove(self, change: Change, name: str) -> int:
        del flavours_of(change)[name]
        return next_version(change)
