"""What the quota tree and the machines are to admission: pools, each with a tree of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pf_queue.admission.core.amounts import Space
from pf_queue.admission.core.machines import Machines
from pf_queue.admission.core.places import ROOT, Admission, QueueRules, Reach, Tree, plant
from pf_queue.clusters.domain import ClusterStatus, Node
from pf_queue.quota.domain import OrderPolicy, PreemptionPolicy, Queue, QueueState
from pf_queue.resources import Resources

REACHES: Mapping[PreemptionPolicy, Reach] = {
    PreemptionPolicy.RECLAIM_AND_PRIORITY: Reach.ALL,
    PreemptionPolicy.RECLAIM_ONLY: Reach.BORROWERS,
    PreemptionPolicy.NEVER: Reach.NOBODY,
}
ADMISSIONS: Mapping[QueueState, Admission] = {
    QueueState.OPEN: Admission.OPEN,
    QueueState.HELD: Admission.HELD,
    QueueState.DRAINING: Admission.DRAINING,
    QueueState.CLOSING: Admission.OPEN,
    QueueState.CLOSED: Admission.HELD,
}


@dataclass(frozen=True, slots=True, order=True)
class PoolId:
    """Machines that are shared: those of a cluster that are dedicated to nobody, or those of one queue."""

    cluster: str
    queue: str = ""
    """The queue that has them for itself; empty for those that are shared."""


@dataclass(frozen=True, slots=True)
class PoolLayout:
    """The queues and machines of one pool."""

    queues: tuple[QueueRules, ...]
    capacity: Resources
    sizes: tuple[Resources, ...]
    """Of each machine, also of those on which nothing may start for now."""
    reported: bool
    """False as long as nothing is known of the machines."""
    online: bool

    def space(self, others: Iterable[str] = ()) -> Space:
        """All resources that are spoken of, and others that workloads ask for."""
        names = {*others, *self.capacity, *(name for size in self.sizes for name in size)}
        for rules in self.queues:
            names.update(rules.min, rules.max, rules.lend_limit, rules.max_per_user)
        return Space.of(names)

    def tree(self, space: Space) -> Tree:
        known = self.capacity if self.reported else {}
        capacity = {name: known.get(name, 0) for name in space.names[1:]}
        return plant(space, self.queues, capacity, Admission.OPEN if self.online else Admission.HELD)

    def machines(self, space: Space) -> Machines:
        return Machines(space, self.sizes)


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """A cluster as it is stored."""

    name: str
    status: ClusterStatus
    reported: bool
    queues: Sequence[Queue]
    nodes: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Layout:
    """All pools, and where each queue belongs."""

    pools: Mapping[PoolId, PoolLayout]
    pool_of: Mapping[str, PoolId]
    states: Mapping[str, QueueState]

    @classmethod
    def of(cls, clusters: Iterable[ClusterFacts]) -> Layout:
        pools: dict[PoolId, PoolLayout] = {}
        pool_of: dict[str, PoolId] = {}
        states: dict[str, QueueState] = {}
        for cluster in clusters:
            states.update((queue.name, queue.state) for queue in cluster.queues)
            roots = _roots(cluster.queues)
            members: defaultdict[PoolId, list[Queue]] = defaultdict(list)
            for queue in cluster.queues:
                root = roots[queue.name]
                id_ = PoolId(cluster.name, root.name if root.physical else "")
                members[id_].append(queue)
                pool_of[queue.name] = id_
            pools.update((id_, _pool(cluster, id_, queues)) for id_, queues in members.items())
        return cls(pools, pool_of, states)

    def only(self, clusters: frozenset[str]) -> Layout:
        """The pools of some clusters."""
        pool_of = {queue: id_ for queue, id_ in self.pool_of.items() if id_.cluster in clusters}
        return Layout(
            {id_: pool for id_, pool in self.pools.items() if id_.cluster in clusters},
            pool_of,
            {queue: self.states[queue] for queue in pool_of},
        )


def _roots(queues: Sequence[Queue]) -> Mapping[str, Queue]:
    """By queue, the one at the top of its tree; each queue comes after the one above it."""
    roots: dict[str, Queue] = {}
    for queue in queues:
        roots[queue.name] = roots[queue.parent] if queue.parent else queue
    return roots


def _pool(cluster: ClusterFacts, id_: PoolId, queues: Sequence[Queue]) -> PoolLayout:
    mine = [node for node in cluster.nodes if node.dedicated_queue == id_.queue]
    known = Resources({name: 0 for node in cluster.nodes for name in node.allocatable})
    return PoolLayout(
        queues=tuple(_rules(queue) for queue in queues),
        capacity=Resources.total([known, *(node.allocatable for node in mine if node.schedulable)]),
        sizes=tuple(node.allocatable for node in mine),
        reported=cluster.reported,
        online=cluster.status is ClusterStatus.ONLINE,
    )


def _rules(queue: Queue) -> QueueRules:
    return QueueRules(
        name=queue.name,
        parent=queue.parent or ROOT,
        min=queue.min,
        max=queue.max,
        lend_limit=queue.lend_limit,
        weight=queue.weight,
        priority=queue.priority,
        reach=REACHES[queue.preemption_policy],
        strict=queue.order_policy is OrderPolicy.STRICT_FIFO,
        max_jobs=queue.max_jobs,
        max_per_user=queue.max_per_user,
        max_jobs_per_user=queue.max_jobs_per_user,
        admission=ADMISSIONS[queue.state],
    )
