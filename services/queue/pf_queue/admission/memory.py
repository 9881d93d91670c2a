"""Workloads in memory, for tests."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from paddleflow.problems import Conflict
from pf_kit.memory import tables
from pf_kit.unit import Change, View
from pf_queue.admission.domain import Effects, Key, Record, WorkloadState
from pf_queue.admission.store import DecisionFilter, Over, OverFilter, OverPlace, StoredDecision
from pf_queue.admission.times import moment
from pf_queue.quota.memory import queues_of
from pf_queue.resources import Resources


class MemoryWorkloadStore:
    """Fulfils `WorkloadStore` over a `MemoryDatabase`."""

    async def unfinished(self, view: View) -> Sequence[Record]:
        return list(tables(view).table("workloads").values())

    async def unfinished_in(self, view: View, queue: str) -> Sequence[Record]:
        return [record for record in await self.unfinished(view) if record.spec.queue == queue]

    async def over(self, view: View, ids: Sequence[str]) -> Sequence[Record]:
        kept = tables(view).table("workloads_over")
        return [kept[id_] for id_ in ids if id_ in kept]

    async def last_over(self, view: View, key: Key) -> Record | None:
        kept = [
            record
            for record in tables(view).table("workloads_over").values()
            if record.spec.key.job == key.job and key.attempt in (0, record.spec.key.attempt)
        ]
        return max(kept, key=lambda record: record.spec.key.attempt, default=None)

    async def over_in_queue(
        self, view: View, chosen: OverFilter, after: OverPlace | None, limit: int
    ) -> Sequence[Over]:
        ends = tables(view).table("ends")
        found = [
            Over(record, ends[id_])
            for id_, record in tables(view).table("workloads_over").items()
            if record.spec.queue == chosen.queue
            and chosen.user in ("", record.spec.user)
            and (chosen.since is None or ends[id_] >= chosen.since)
            and (after is None or (ends[id_], id_) < (after.ended, after.id))
        ]
        return sorted(found, key=lambda over: (over.ended, over.record.id), reverse=True)[:limit]

    async def in_queue(self, view: View, queue: str) -> bool:
        return any(record.spec.queue == queue for record in tables(view).table("workloads").values())

    async def used(self, view: View, queues: Collection[str]) -> Mapping[str, Resources]:
        sums: dict[str, list[Resources]] = {name: [] for name in queues}
        for record in tables(view).table("workloads").values():
            name = record.spec.queue if record.holds else ""
            while name:
                if name in sums:
                    sums[name].append(_held(record))
                name = queues_of(view)[name].parent
        return {name: Resources.total(held).less([]) for name, held in sums.items() if held}

    async def write(self, change: Change, effects: Effects) -> None:
        live, over = tables(change).table("workloads"), tables(change).table("workloads_over")
        for id_, record in effects.changed.items():
            if record.state is WorkloadState.RELEASED:
                live.pop(id_, None)
                over[id_] = record
                tables(change).table("ends")[id_] = change.time
            elif id_ in effects.added and record.spec.queue not in tables(change).table("queues"):
                raise Conflict("a queue was deleted while workloads came into it; try again")
            else:
                live[id_] = record
        log = tables(change).table("decisions")
        for decided in effects.decided:
            number = len(log) + 1
            log[number] = StoredDecision(number, decided)

    async def decisions(
        self, view: View, chosen: DecisionFilter, before: int | None, limit: int
    ) -> Sequence[StoredDecision]:
        found: Iterator[StoredDecision] = (
            stored
            for id_, stored in sorted(tables(view).table("decisions").items(), reverse=True)
            if (before is None or id_ < before) and _matches(chosen, stored)
        )
        return [stored for stored, _ in zip(found, range(limit), strict=False)]

    async def tree(self, view: View) -> tuple[int, ...]:
        queues, clusters = tables(view).table("queues"), tables(view).table("clusters")
        versions = [max((each.version for each in kept.values()), default=0) for kept in (queues, clusters)]
        return (versions[0], len(queues), versions[1], len(clusters))


def _held(record: Record) -> Resources:
    counts = zip(record.spec.roles, record.surplus, strict=True)
    return Resources.total(
        Resources({name: (role.least + above) * amount for name, amount in role.per_replica.items()})
        for role, above in counts
    )


def _matches(chosen: DecisionFilter, stored: StoredDecision) -> bool:
    decided = stored.decided
    return (
        (chosen.queues is None or decided.queue in chosen.queues)
        and chosen.job in ("", decided.key.job)
        and chosen.attempt in (0, decided.key.attempt)
        and (not chosen.kinds or decided.kind in chosen.kinds)
        and (chosen.since is None or moment(decided.time) >= chosen.since)
    )
