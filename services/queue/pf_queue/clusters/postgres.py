"""Clusters, machines and flavours in Postgres."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from paddleflow.problems import ClusterExists, FlavourExists
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import Row, on_constraint, rows
from pf_kit.unit import Change, View
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
)
from pf_queue.resources import Resources


class PostgresClusterStore:
    """Fulfils `ClusterStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_queue.clusters")

    async def cluster(self, view: View, name: str) -> Cluster | None:
        row = await rows(view).fetchrow(self._sql["cluster"], name)
        return _cluster(row) if row else None

    async def clusters(self, view: View, chosen: ClusterFilter, after: str, limit: int) -> Sequence[Cluster]:
        names = list(chosen.names) or None
        found = await rows(view).fetch(self._sql["clusters"], after, limit, names, chosen.status)
        return [_cluster(row) for row in found]

    async def add(self, change: Change, cluster: Cluster) -> int:
        with on_constraint(clusters_pkey=ClusterExists(f"a cluster {cluster.name!r} exists")):
            version: int = await rows(change).fetchval(
                self._sql["add_cluster"], *_editable(cluster), cluster.create_time, cluster.update_time
            )
        return version

    async def set(self, change: Change, cluster: Cluster) -> int:
        values = (*_editable(cluster), cluster.update_time)
        version: int = await rows(change).fetchval(self._sql["set_cluster"], *values)
        return version

    async def set_revision(self, change: Change, name: str, revision: int) -> None:
        await rows(change).execute(self._sql["set_revision"], name, revision)

    async def remove(self, change: Change, name: str) -> int:
        version: int = await rows(change).fetchval(self._sql["remove_cluster"], name)
        return version

    async def begin(self, change: Change) -> bool:
        return await rows(change).fetchval(self._sql["begin"]) is not None

    async def nodes(self, view: View, chosen: NodeFilter, after: NodePlace, limit: int) -> Sequence[Node]:
        clusters, pool = list(chosen.clusters) or None, chosen.pool
        of_pool = (pool.cluster, pool.dedicated_queue) if pool else (None, None)
        found = await rows(view).fetch(
            self._sql["nodes"], after.cluster, after.name, limit, clusters, *of_pool, dict(chosen.labels)
        )
        return [_node(row) for row in found]

    async def set_nodes(self, change: Change, cluster: str, nodes: Sequence[Node]) -> None:
        await rows(change).execute(
            self._sql["set_nodes"],
            cluster,
            [node.name for node in nodes],
            [json.dumps(dict(node.allocatable)) for node in nodes],
            [json.dumps(dict(node.labels)) for node in nodes],
            [node.schedulable for node in nodes],
            [node.dedicated_queue for node in nodes],
        )


class PostgresFlavourStore:
    """Fulfils `FlavourStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_queue.clusters")

    async def flavour(self, view: View, name: str) -> Flavour | None:
        row = await rows(view).fetchrow(self._sql["flavour"], name)
        return _flavour(row) if row else None

    async def flavours(self, view: View, chosen: FlavourFilter, after: str, limit: int) -> Sequence[Flavour]:
        found = await rows(view).fetch(self._sql["flavours"], after, limit, chosen.cluster or None, chosen.name_prefix)
        return [_flavour(row) for row in found]

    async def bound(self, view: View, cluster: str) -> Sequence[Flavour]:
        return [_flavour(row) for row in await rows(view).fetch(self._sql["bound_flavours"], cluster)]

    async def made_by(self, view: View, creator: str) -> Sequence[Flavour]:
        return [_flavour(row) for row in await rows(view).fetch(self._sql["flavours_of"], creator)]

    async def add(self, change: Change, flavour: Flavour) -> int:
        values = (flavour.name, dict(flavour.resources), flavour.cluster or None, flavour.creator)
        with on_constraint(flavours_pkey=FlavourExists(f"a flavour {flavour.name!r} exists")):
            version: int = await rows(change).fetchval(
                self._sql["add_flavour"], *values, flavour.create_time, flavour.update_time
            )
        return version

    async def set(self, change: Change, flavour: Flavour) -> int:
        values = (
            flavour.name,
            dict(flavour.resources),
            flavour.cluster or None,
            flavour.creator,
            flavour.update_time,
        )
        version: int = await rows(change).fetchval(self._sql["set_flavour"], *values)
        return version

    async def remove(self, change: Change, name: str) -> int:
        version: int = await rows(change).fetchval(self._sql["remove_flavour"], name)
        return version


def _editable(cluster: Cluster) -> Sequence[object]:
    """The name, then the values of the columns that change, in the order in which the queries name them."""
    machines = cluster.machines
    return (
        cluster.name,
        cluster.type,
        cluster.description,
        cluster.endpoint,
        cluster.software_version,
        cluster.source,
        cluster.setting,
        list(cluster.namespaces),
        cluster.credential or None,
        cluster.status,
        machines.count if machines else 0,
        dict(machines.capacity) if machines else None,
        {queue: dict(pool) for queue, pool in machines.dedicated.items()} if machines else None,
        cluster.revision,
        cluster.overcommitted,
    )


def _cluster(row: Row) -> Cluster:
    return Cluster(
        name=row["name"],
        type=ClusterType(row["type"]),
        description=row["description"],
        endpoint=row["endpoint"],
        software_version=row["software_version"],
        source=row["source"],
        setting=row["setting"],
        namespaces=tuple(row["namespaces"]),
        credential=row["credential"] or b"",
        status=ClusterStatus(row["status"]),
        machines=_machines(row) if row["revision"] else None,
        revision=row["revision"],
        overcommitted=row["overcommitted"],
        create_time=row["create_time"],
        update_time=row["update_time"],
        version=row["version"],
    )


def _machines(row: Row) -> Machines:
    dedicated = {queue: Resources(pool) for queue, pool in row["dedicated"].items()}
    return Machines(row["node_count"], Resources(row["capacity"]), dedicated)


def _node(row: Row) -> Node:
    return Node(
        name=row["name"],
        cluster=row["cluster"],
        allocatable=Resources(row["allocatable"]),
        labels=row["labels"],
        schedulable=row["schedulable"],
        dedicated_queue=row["dedicated_queue"],
    )


def _flavour(row: Row) -> Flavour:
    return Flavour(
        name=row["name"],
        resources=Resources(row["resources"]),
        cluster=row["cluster"] or "",
        creator=row["creator"],
        create_time=row["create_time"],
        update_time=row["update_time"],
        version=row["version"],
    )
