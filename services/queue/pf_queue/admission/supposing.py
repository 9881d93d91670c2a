"""A layout as it would be: what a simulation asks about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from paddleflow.problems import ClusterNotFound, QueueNotFound, Violation
from pf_kit.fields import require
from pf_queue.admission.layout import ClusterFacts, Layout
from pf_queue.clusters.domain import Node
from pf_queue.quota.domain import Queue


@dataclass(frozen=True, slots=True)
class Supposed:
    """What would be changed."""

    queues: Mapping[str, Queue] = field(default_factory=dict)
    nodes: Sequence[Node] = ()
    gone: frozenset[tuple[str, str]] = frozenset()
    """Machines by cluster and name."""

    @property
    def clusters(self) -> frozenset[str]:
        """Those whose machines would be others."""
        return frozenset([*(node.cluster for node in self.nodes), *(cluster for cluster, _ in self.gone)])

    def __bool__(self) -> bool:
        return bool(self.queues or self.nodes or self.gone)


def supposed(facts: Sequence[ClusterFacts], change: Supposed) -> Layout:
    """The layout after a change. Raises QueueNotFound, ClusterNotFound, and InvalidArgument for machines."""
    _require_known(facts, change)
    return Layout.of([_changed(cluster, change) for cluster in facts])


def _require_known(facts: Sequence[ClusterFacts], change: Supposed) -> None:
    """What is not there must not be passed over in silence: the answer would be about something else."""
    for queue in sorted(change.queues.keys() - {queue.name for cluster in facts for queue in cluster.queues}):
        raise QueueNotFound(f"there is no queue {queue!r}")
    named = {node.cluster for node in change.nodes} | {cluster for cluster, _ in change.gone}
    for cluster in sorted(named - {cluster.name for cluster in facts}):
        raise ClusterNotFound(
            f"there is no cluster {cluster!r}; every machine supposed to come or go names its cluster"
        )
    known = {(cluster.name, node.name) for cluster in facts for node in cluster.nodes}
    missing = sorted(change.gone - known)
    require(Violation("gone", f"the cluster {cluster!r} has no machine {name!r}") for cluster, name in missing)


def _changed(cluster: ClusterFacts, change: Supposed) -> ClusterFacts:
    nodes = {node.name: node for node in cluster.nodes if (cluster.name, node.name) not in change.gone}
    nodes.update((node.name, node) for node in change.nodes if node.cluster == cluster.name)
    queues = [_quota(queue, change.queues.get(queue.name)) for queue in cluster.queues]
    return replace(cluster, nodes=list(nodes.values()), queues=queues, reported=cluster.reported or bool(nodes))


def _quota(queue: Queue, wanted: Queue | None) -> Queue:
    """A queue with what can be supposed of it; its place in the tree stays."""
    if wanted is None:
        return queue
    return replace(
        queue,
        min=wanted.min,
        max=wanted.max,
        lend_limit=wanted.lend_limit,
        weight=wanted.weight,
        priority=wanted.priority,
        preemption_policy=wanted.preemption_policy,
        order_policy=wanted.order_policy,
        max_jobs=wanted.max_jobs,
        max_per_user=wanted.max_per_user,
        max_jobs_per_user=wanted.max_jobs_per_user,
    )
