"""Queues in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paddleflow.problems import QueueExists
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import Row, on_constraint, rows
from pf_kit.unit import Change, View
from pf_queue.quota.domain import (
    Beside,
    Isolation,
    Kin,
    OrderPolicy,
    PreemptionPolicy,
    Promises,
    Queue,
    QueueFilter,
    QueueState,
    QuotaType,
    Standing,
)
from pf_queue.resources import Resources


class PostgresQueueStore:
    """Fulfils `QueueStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_queue.quota")

    async def standing(self, view: View, name: str) -> Standing | None:
        row = await rows(view).fetchrow(self._sql["standing"], name)
        return _standing(row) if row else None

    async def page(self, view: View, chosen: QueueFilter, after: str, limit: int) -> Sequence[Standing]:
        found = await rows(view).fetch(
            self._sql["page"],
            after,
            limit,
            None if chosen.names is None else list(chosen.names),
            chosen.cluster or None,
            chosen.namespace or None,
            chosen.parent or None,
            list(chosen.states) or None,
            chosen.name_prefix,
            dict(chosen.labels),
        )
        return [_standing(row) for row in found]

    async def kin(self, view: View, cluster: str, name: str, parent: str) -> Kin:
        found = [_queue(row) for row in await rows(view).fetch(self._sql["kin"], cluster, name, parent)]
        guaranteed = await self._guaranteed(view, cluster, parent)
        there = [queue for queue in found if (queue.cluster, queue.parent) == (cluster, parent)]
        return Kin(found, Beside(parent, guaranteed.less(queue.min for queue in there if not queue.physical)))

    async def promises(self, view: View, cluster: str) -> Promises:
        shared = await self._guaranteed(view, cluster, "")
        isolated = await rows(view).fetch(self._sql["isolated"], cluster)
        return Promises(shared, {row["name"]: Resources(row["min"]) for row in isolated})

    async def in_cluster(self, view: View, cluster: str) -> Sequence[Queue]:
        return [_queue(row) for row in await rows(view).fetch(self._sql["in_cluster"], cluster)]

    async def add(self, change: Change, queue: Queue) -> int:
        born = (queue.name, queue.cluster, queue.namespace, queue.quota_type, queue.isolation)
        with on_constraint(queues_pkey=QueueExists(f"a queue {queue.name!r} exists")):
            version: int = await rows(change).fetchval(
                self._sql["add"], *born, *_editable(queue), queue.create_time, queue.update_time
            )
        return version

    async def set(self, change: Change, queue: Queue) -> int:
        values = (queue.name, *_editable(queue), queue.update_time)
        version: int = await rows(change).fetchval(self._sql["set"], *values)
        return version

    async def remove(self, change: Change, name: str) -> int:
        version: int = await rows(change).fetchval(self._sql["remove"], name)
        return version

    async def remove_all(self, change: Change, cluster: str) -> Mapping[str, int]:
        return {row["name"]: row["version"] for row in await rows(change).fetch(self._sql["remove_all"], cluster)}

    async def _guaranteed(self, view: View, cluster: str, parent: str) -> Resources:
        return Resources(await rows(view).fetchval(self._sql["guaranteed"], cluster, parent))


def _editable(queue: Queue) -> Sequence[object]:
    """The values of the columns that change, in the order in which the queries name them."""
    return (
        queue.parent or None,
        dict(queue.min),
        dict(queue.max),
        dict(queue.lend_limit),
        queue.weight,
        queue.priority,
        queue.preemption_policy,
        queue.order_policy,
        queue.max_jobs,
        dict(queue.max_per_user),
        queue.max_jobs_per_user,
        dict(queue.labels),
        queue.state,
    )


def _standing(row: Row) -> Standing:
    return Standing(_queue(row), Resources(row["effective_max"]))


def _queue(row: Row) -> Queue:
    return Queue(
        name=row["name"],
        cluster=row["cluster"],
        namespace=row["namespace"],
        quota_type=QuotaType(row["quota_type"]),
        isolation=Isolation(row["isolation"]),
        parent=row["parent"] or "",
        min=Resources(row["min"]),
        max=Resources(row["max"]),
        lend_limit=Resources(row["lend_limit"]),
        weight=row["weight"],
        priority=row["priority"],
        preemption_policy=PreemptionPolicy(row["preemption_policy"]),
        order_policy=OrderPolicy(row["order_policy"]),
        max_jobs=row["max_jobs"],
        max_per_user=Resources(row["max_per_user"]),
        max_jobs_per_user=row["max_jobs_per_user"],
        labels=row["labels"],
        state=QueueState(row["state"]),
        create_time=row["create_time"],
        update_time=row["update_time"],
        version=row["version"],
    )
