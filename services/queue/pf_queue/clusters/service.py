"""What can be done with clusters and their machines.

Methods that take a `Change` are one step of it: whoever calls them holds `TREE_LOCK`, and for a deletion the lock of
grants too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from paddleflow.problems import (
    ClusterExists,
    ClusterNotEmpty,
    ClusterNotFound,
    NamespaceInUse,
    StaleRevision,
    Violation,
)
from pf_kit.changes import ChangeKind
from pf_kit.fields import require, shown
from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_queue.clusters.domain import (
    Cluster,
    ClusterChanged,
    ClusterFilter,
    FlavourChanged,
    Machines,
    Node,
    NodeFilter,
    NodePlace,
    Report,
)
from pf_queue.clusters.fields import CLUSTER_NAME, MOST_NODES, cluster_violations, machines_violations
from pf_queue.clusters.ports import Tenants
from pf_queue.clusters.store import ClusterStore, FlavourStore
from pf_queue.edits import Editable, edited, require_etag

EDITABLE = Editable(
    whole=frozenset(
        {
            "description",
            "endpoint",
            "type",
            "version",
            "source",
            "setting",
            "namespaces",
            "credential",
            "status",
        }
    ),
    attributes={"version": "software_version"},
)
MOST_TOLD = 10
"""Queues named in one line of the log."""
logger = logging.getLogger(__name__)


class Clusters:
    """The clusters, as callers may use them."""

    def __init__(self, *, store: ClusterStore, flavours: FlavourStore, tenants: Tenants) -> None:
        self._store = store
        self._flavours = flavours
        self._tenants = tenants

    async def get(self, view: View, name: str) -> Cluster:
        """The cluster of this name. Raises ClusterNotFound."""
        cluster = await self._store.cluster(view, name) if CLUSTER_NAME.fullmatch(name) else None
        if cluster is None:
            raise ClusterNotFound(f"no cluster {shown(name)}")
        return cluster

    async def page(self, view: View, chosen: ClusterFilter, after: str, limit: int) -> Sequence[Cluster]:
        """The clusters after this name."""
        return await self._store.clusters(view, chosen, after, limit)

    async def create(self, change: Change, draft: Cluster) -> Cluster:
        """Adds a cluster. Raises ClusterExists."""
        if await self._store.cluster(change, draft.name) is not None:
            raise ClusterExists(f"a cluster {draft.name!r} exists; choose another name")
        cluster = replace(draft, create_time=change.time, update_time=change.time)
        cluster = replace(cluster, version=await self._store.add(change, cluster))
        change.emit(ClusterChanged(ChangeKind.CREATED, cluster, cluster.version))
        return cluster

    async def update(self, change: Change, given: Cluster, etag: str, mask: Sequence[str]) -> Cluster:
        """Changes the fields that the mask names. Raises what UpdateCluster's contract lists."""
        current = await self.get(change, given.name)
        require_etag(etag, current.etag)
        cluster = edited(current, given, mask, EDITABLE)
        require(cluster_violations(cluster))
        if cluster == current:
            return current
        if cluster.namespaces != current.namespaces:
            await self._require_namespaces(change, cluster)
        return await self._save(change, cluster)

    async def delete(self, change: Change, name: str, etag: str, *, cascade: bool) -> None:
        """Removes a cluster and its machines, and with `cascade` what stands on it. Raises ClusterNotEmpty."""
        cluster = await self.get(change, name)
        require_etag(etag, cluster.etag)
        if not cascade:
            await self._require_empty(change, name)
        await self._tenants.drop_all(change, cluster)
        for flavour in await self._flavours.bound(change, name):
            change.emit(FlavourChanged(ChangeKind.DELETED, flavour, await self._flavours.remove(change, flavour.name)))
        change.emit(ClusterChanged(ChangeKind.DELETED, cluster, await self._store.remove(change, name)))

    async def report(self, change: Change, report: Report) -> Cluster:
        """Replaces the machines of a cluster, or changes them. Raises ClusterNotFound and StaleRevision."""
        cluster = await self.get(change, report.cluster)
        if report.revision == cluster.revision:
            return cluster
        _require_newer(report, cluster)
        nodes = report.nodes
        if report.base_revision:
            chosen = NodeFilter(clusters=frozenset({cluster.name}))
            nodes = report.over(await self._store.nodes(change, chosen, NodePlace("", ""), MOST_NODES))
        # In a thread: the machines of a large cluster take a while to add up, and other calls go on meanwhile.
        sums = await asyncio.to_thread(Machines.of, nodes)
        require(machines_violations(len(nodes), sums))
        await self._store.set_nodes(change, cluster.name, nodes)
        if sums == cluster.machines:
            # Runtimes report every few seconds: whoever watches clusters is told when there is something to tell.
            await self._store.set_revision(change, cluster.name, report.revision)
            return replace(cluster, revision=report.revision)
        await self._warn_of_idle(change, cluster.name, sums)
        cluster = replace(cluster, machines=sums, revision=report.revision)
        overcommitted = await self._tenants.overcommitted(change, cluster)
        return await self._save(change, replace(cluster, overcommitted=overcommitted))

    async def nodes(
        self, view: View, caller: Principal, queue: str, chosen: NodeFilter, after: NodePlace, limit: int
    ) -> Sequence[Node]:
        """Machines after this place; if a queue is named, those that it can use."""
        pool = await self._tenants.pool(view, caller, queue) if queue else None
        return await self._store.nodes(view, replace(chosen, pool=pool), after, limit)

    async def _warn_of_idle(self, view: View, cluster: str, sums: Machines) -> None:
        if idle := sums.dedicated.keys() - set(await self._tenants.isolated(view, cluster)):
            told = {"cluster": cluster, "queues": sorted(idle)[:MOST_TOLD]}
            logger.warning("machines are dedicated to queues that are missing or not isolated: they idle", extra=told)

    async def _save(self, change: Change, cluster: Cluster) -> Cluster:
        cluster = replace(cluster, update_time=change.time)
        cluster = replace(cluster, version=await self._store.set(change, cluster))
        change.emit(ClusterChanged(ChangeKind.UPDATED, cluster, cluster.version))
        return cluster

    async def _require_namespaces(self, view: View, cluster: Cluster) -> None:
        for namespace, queue in (await self._tenants.namespaces(view, cluster.name)).items():
            if not cluster.allows(namespace):
                message = f"queue {queue!r} uses the namespace {namespace!r}; delete the queue, or keep the namespace"
                raise NamespaceInUse(message, violations=(Violation("cluster.namespaces", message),))

    async def _require_empty(self, view: View, name: str) -> None:
        queues, flavours = await self._tenants.namespaces(view, name), await self._flavours.bound(view, name)
        if queues or flavours:
            raise ClusterNotEmpty(f"cluster {name!r} has queues or flavours; delete them, or pass cascade")


def _require_newer(report: Report, cluster: Cluster) -> None:
    of = f"revision {report.revision} of the machines of {cluster.name!r}"
    if report.revision < cluster.revision:
        raise StaleRevision(
            f"{of} is older than the stored revision {cluster.revision}; read them again, and report with a higher one"
        )
    if report.base_revision not in (0, cluster.revision):
        raise StaleRevision(
            f"{of} tells what changed since revision {report.base_revision}, but revision {cluster.revision} is stored;"
            f" report all machines"
        )
