"""What can be done with queues.

Methods that take a `Change` are one step of it: whoever calls them holds `TREE_LOCK`, and for a deletion the lock of
grants too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from paddleflow.problems import (
    ClusterNotFound,
    InvalidArgument,
    NamespaceNotAllowed,
    QueueExists,
    QueueHasChildren,
    QueueNotEmpty,
    QueueNotFound,
    Violation,
)
from pf_kit.changes import ChangeKind
from pf_kit.fields import DNS_LABEL, require, shown
from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_queue.accounts.domain import ResourceKind
from pf_queue.clusters.domain import Cluster, ClusterFilter
from pf_queue.clusters.fields import CLUSTER_NAME
from pf_queue.clusters.store import ClusterStore
from pf_queue.edits import Editable, edited, named, require_etag
from pf_queue.quota.commitments import Commitments
from pf_queue.quota.domain import Queue, QueueChanged, QueueFilter, QueueState, Standing, StateEvent, advance
from pf_queue.quota.fields import queue_violations
from pf_queue.quota.placing import missing_parent, settle
from pf_queue.quota.ports import Grants, Occupancy
from pf_queue.quota.store import QueueStore
from pf_queue.quota.tree import Tree
from pf_queue.quota.visibility import Visibility
from pf_queue.resources import NOTHING, Resources

EDITABLE = Editable(
    whole=frozenset(
        {"parent", "weight", "priority", "preemption_policy", "order_policy", "max_jobs", "max_jobs_per_user"}
    ),
    resources=frozenset({"min", "max", "lend_limit", "max_per_user"}),
    pairs=frozenset({"labels"}),
    fixed=frozenset({"cluster", "namespace", "quota_type", "isolation"}),
)
JUDGED = ("parent", "min", "max", "lend_limit", "max_per_user")
"""The fields that the rules of the tree are about."""


class Queues:
    """The quota tree, as callers may use it."""

    def __init__(
        self,
        *,
        store: QueueStore,
        clusters: ClusterStore,
        commitments: Commitments,
        grants: Grants,
        visibility: Visibility,
        occupancy: Occupancy,
    ) -> None:
        self._store = store
        self._clusters = clusters
        self._commitments = commitments
        self._grants = grants
        self._visibility = visibility
        self._occupancy = occupancy

    async def get(self, view: View, caller: Principal, name: str) -> Standing:
        """The queue of this name. Raises QueueNotFound and QueueNotGranted."""
        standing = await self._existing(view, name)
        await self._visibility.require(view, caller, name)
        (used,) = await self._with_use(view, [standing])
        return used

    async def page(
        self, view: View, caller: Principal, chosen: QueueFilter, after: str, limit: int
    ) -> Sequence[Standing]:
        """The queues after this name that the caller may see."""
        names = await self._visibility.names(view, caller)
        return await self._with_use(view, await self._store.page(view, replace(chosen, names=names), after, limit))

    async def create(self, change: Change, draft: Queue) -> Standing:
        """Adds a queue. Raises what CreateQueue's contract lists."""
        cluster = await self._cluster_of(change, draft)
        queue = replace(_completed(draft), cluster=cluster.name, create_time=change.time, update_time=change.time)
        if not cluster.allows(queue.namespace):
            raise _not_allowed(queue, cluster)
        tree = await self._tree(change, queue, cluster)
        if tree.get(queue.name):
            raise QueueExists(f"a queue {queue.name!r} exists; choose another name")
        ceiling = settle(tree, queue).ceiling(queue)
        queue = replace(queue, version=await self._store.add(change, queue))
        await self._keep_commitments(change, cluster, None, queue)
        return _told(change, ChangeKind.CREATED, Standing(queue, ceiling))

    async def update(self, change: Change, given: Queue, etag: str, mask: Sequence[str]) -> Standing:
        """Changes the fields that the mask names. Raises what UpdateQueue's contract lists."""
        standing = await self._existing(change, given.name)
        require_etag(etag, standing.queue.etag)
        queue = edited(standing.queue, given, mask, EDITABLE)
        if queue.physical and "min" not in named(mask):
            queue = replace(queue, min=queue.max)
        require(queue_violations(queue))
        if queue == standing.queue:
            return standing
        if all(getattr(queue, field) == getattr(standing.queue, field) for field in JUDGED):
            return await self._save(change, queue, standing.effective_max)
        return await self._judge(change, standing.queue, queue)

    async def move(self, change: Change, name: str, *events: StateEvent) -> Standing:
        """Lets events happen to a queue's state. Raises QueueNotFound and QueueStateConflict."""
        standing = await self._existing(change, name)
        state = standing.queue.state
        for event in events:
            state = advance(state, event)
        if state is standing.queue.state:
            return standing
        return await self._save(change, replace(standing.queue, state=state), standing.effective_max)

    async def close(self, change: Change, name: str) -> Standing:
        """Takes no more workloads; closed at once if there are none. Raises QueueNotFound."""
        queue = (await self._existing(change, name)).queue
        if await self._occupancy.in_queue(change, queue.name):
            return await self.move(change, name, StateEvent.CLOSE)
        return await self.move(change, name, StateEvent.CLOSE, StateEvent.EMPTIED)

    async def settle(self, change: Change, name: str) -> None:
        """Closes a queue that is closing, if its last workload is over."""
        standing = await self._store.standing(change, name)
        if standing and standing.queue.state is QueueState.CLOSING:
            await self.close(change, name)

    async def delete(self, change: Change, name: str, etag: str) -> None:
        """Removes a queue and the grants on it. Raises what DeleteQueue's contract lists."""
        standing = await self._existing(change, name)
        queue = standing.queue
        require_etag(etag, queue.etag)
        cluster = await self._cluster(change, queue.cluster)
        tree = await self._tree(change, queue, cluster)
        if children := tree.children(name):
            raise QueueHasChildren(f"below queue {name!r} there are {_listed(children)}; delete them first")
        await self._require_empty(change, queue)
        await self._tell_end(change, [standing], {name: await self._store.remove(change, name)})
        await self._keep_commitments(change, cluster, queue, None)

    async def delete_all(self, change: Change, cluster: Cluster) -> None:
        """Removes all queues of a cluster, and the grants on them."""
        queues = await self._store.in_cluster(change, cluster.name)
        for queue in queues:
            await self._require_empty(change, queue)
        tree = Tree(queues, cluster.machines)
        standings = [Standing(queue, tree.ceiling(queue)) for queue in reversed(queues)]
        await self._tell_end(change, standings, await self._store.remove_all(change, cluster.name))

    async def _require_empty(self, change: Change, queue: Queue) -> None:
        if await self._occupancy.in_queue(change, queue.name):
            raise QueueNotEmpty(f"queue {queue.name!r} has unfinished workloads; close it and wait, or stop them")

    async def _tell_end(self, change: Change, standings: Sequence[Standing], versions: Mapping[str, int]) -> None:
        # Told before the grants end: whoever may see a queue shall see its end.
        for standing in standings:
            change.emit(QueueChanged(ChangeKind.DELETED, standing, versions[standing.queue.name]))
        await self._grants.drop_resources(change, ResourceKind.QUEUE, versions.keys())

    async def _judge(self, change: Change, before: Queue, queue: Queue) -> Standing:
        cluster = await self._cluster(change, queue.cluster)
        tree = settle(await self._tree(change, queue, cluster), queue)
        saved = await self._save(change, queue, tree.ceiling(queue))
        await self._keep_commitments(change, cluster, before, queue)
        return saved

    async def _save(self, change: Change, queue: Queue, ceiling: Resources) -> Standing:
        queue = replace(queue, update_time=change.time)
        queue = replace(queue, version=await self._store.set(change, queue))
        return _told(change, ChangeKind.UPDATED, Standing(queue, ceiling))

    async def _keep_commitments(
        self, change: Change, cluster: Cluster, before: Queue | None, after: Queue | None
    ) -> None:
        top = [queue.min if queue and not queue.parent else NOTHING for queue in (before, after)]
        if top[0] != top[1]:
            await self._commitments.settle(change, cluster)

    async def _tree(self, view: View, queue: Queue, cluster: Cluster) -> Tree:
        kin = await self._store.kin(view, cluster.name, queue.name, queue.parent)
        return Tree(kin.queues, cluster.machines, kin.beside)

    async def _with_use(self, view: View, standings: Sequence[Standing]) -> Sequence[Standing]:
        used = await self._occupancy.used(view, [standing.queue.name for standing in standings])
        return [replace(standing, used=used.get(standing.queue.name, NOTHING)) for standing in standings]

    async def _existing(self, view: View, name: str) -> Standing:
        standing = await self._store.standing(view, name) if DNS_LABEL.fullmatch(name) else None
        if standing is None:
            raise QueueNotFound(f"no queue {shown(name)}")
        return standing

    async def _cluster_of(self, view: View, draft: Queue) -> Cluster:
        """Where a new queue belongs: where it says, else where the queue above it is, else in the only cluster."""
        if not draft.cluster and not draft.parent:
            return await self._only_cluster(view)
        if draft.cluster:
            return await self._cluster(view, draft.cluster)
        if (parent := await self._store.standing(view, draft.parent)) is None:
            raise missing_parent(draft)
        return await self._cluster(view, parent.queue.cluster)

    async def _cluster(self, view: View, name: str) -> Cluster:
        cluster = await self._clusters.cluster(view, name) if CLUSTER_NAME.fullmatch(name) else None
        if cluster is None:
            raise ClusterNotFound(f"no cluster {shown(name)}")
        return cluster

    async def _only_cluster(self, view: View) -> Cluster:
        match await self._clusters.clusters(view, ClusterFilter(), "", 2):
            case [cluster]:
                return cluster
            case []:
                raise ClusterNotFound("there is no cluster yet; create one first")
            case _:
                raise InvalidArgument.of(Violation("queue.cluster", "must be given, because there are several"))


def _completed(queue: Queue) -> Queue:
    """A queue of physical isolation is guaranteed all it may have, so its max says both."""
    return replace(queue, min=queue.max) if queue.physical and not queue.min else queue


def _told(change: Change, kind: ChangeKind, standing: Standing) -> Standing:
    change.emit(QueueChanged(kind, standing, standing.queue.version))
    return standing


def _listed(queues: Sequence[Queue]) -> str:
    names = ", ".join(repr(queue.name) for queue in queues[:3])
    return names if len(queues) <= 3 else f"{names} and {len(queues) - 3} more"


def _not_allowed(queue: Queue, cluster: Cluster) -> NamespaceNotAllowed:
    message = (
        f"cluster {cluster.name!r} does not let queues use the namespace {queue.namespace!r}; choose one of its"
        f" namespaces, or add this one to them"
    )
    return NamespaceNotAllowed(message, violations=(Violation("queue.namespace", message),))
