"""A layout as it would be: what a simulation asks about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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

    def __bool__(self) -> bool:
        return bool(self.queues or self.nodes or self.gone)


def supposed(facts: Sequence[ClusterFacts], change: Supposed) -> Layout:
    """The layout after a change."""
    return Layout.of([_changed(cluster, change) for cluster in facts])


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
