"""Workloads in Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from paddleflow.problems import Conflict
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.sweep import Retention
from pf_kit.postgres.views import Row, on_constraint, rows
from pf_kit.unit import Change, View
from pf_queue.admission.core.workloads import Why
from pf_queue.admission.domain import Decided, DecisionKind, Effects, Key, Record, WorkloadState
from pf_queue.admission.live import LiveRows
from pf_queue.admission.rows import over_record_of, replicas_of, replicas_text, spec_text, standing_text
from pf_queue.admission.store import DecisionFilter, Over, OverFilter, OverPlace, StoredDecision
from pf_queue.admission.times import micros, moment
from pf_queue.resources import Resources

RETENTIONS = (
    Retention("workloads_over", "end_time", timedelta(days=30)),
    Retention("decisions", "time", timedelta(days=7)),
)

AT_ONCE = 500
"""Workloads read by one query: between two of them the process renews its lease and answers its callers. So many fit
into the buffers of a socket, and Postgres goes on while nobody reads there."""


class PostgresWorkloadStore:
    """Fulfils `WorkloadStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_queue.admission")

    async def unfinished(self, view: View) -> Sequence[Record]:
        return await self._unfinished(view, None)

    async def unfinished_in(self, view: View, queue: str) -> Sequence[Record]:
        return await self._unfinished(view, queue)

    async def _unfinished(self, view: View, queue: str | None) -> Sequence[Record]:
        found: list[Record] = []
        live, page = LiveRows(), await self._page(view, "", queue)
        while page:
            # Postgres finds the next page while a thread reads this one.
            reading = asyncio.to_thread(_read, live, page)
            page, records = await asyncio.gather(self._page(view, page[-1]["id"], queue), reading)
            found += records
        return found

    async def _page(self, view: View, after: str, queue: str | None) -> Sequence[Row]:
        return await rows(view).fetch(self._sql["unfinished"], after, AT_ONCE, queue)

    async def over(self, view: View, ids: Sequence[str]) -> Sequence[Record]:
        return [_over(row) for row in await rows(view).fetch(self._sql["over"], list(ids))]

    async def last_over(self, view: View, key: Key) -> Record | None:
        row = await rows(view).fetchrow(self._sql["last_over"], key.job, key.attempt)
        return _over(row) if row else None

    async def over_in_queue(
        self, view: View, chosen: OverFilter, after: OverPlace | None, limit: int
    ) -> Sequence[Over]:
        found = await rows(view).fetch(
            self._sql["over_in_queue"],
            chosen.queue,
            chosen.user or None,
            chosen.since,
            after and after.ended,
            after and after.id,
            limit,
        )
        return [Over(_over(row), row["end_time"]) for row in found]

    async def in_queue(self, view: View, queue: str) -> bool:
        return bool(await rows(view).fetchval(self._sql["in_queue"], queue))

    async def used(self, view: View, queues: Collection[str]) -> Mapping[str, Resources]:
        return {row["queue"]: Resources(row["used"]) for row in await rows(view).fetch(self._sql["used"], list(queues))}

    async def write(self, change: Change, effects: Effects) -> None:
        over = [record for record in effects.changed.values() if record.state is WorkloadState.RELEASED]
        live = [record for record in effects.changed.values() if record.state is not WorkloadState.RELEASED]
        added = [record for record in live if record.id in effects.added]
        changed = [record for record in live if record.id not in effects.added]
        revised = [record for record in changed if record.id in effects.revised]
        view = rows(change)
        if over:
            gone = [record.id for record in over if record.id not in effects.added]
            await view.execute(self._sql["remove"], gone)
            await view.execute(self._sql["end"], *_whole(over), change.time)
        if added:
            deleted = Conflict("a queue was deleted while workloads came into it; try again")
            with on_constraint(workloads_queue_fkey=deleted):
                await view.execute(self._sql["add"], *_whole(added))
        if changed:
            standings = [standing_text(record) for record in changed]
            await view.execute(self._sql["set"], [record.id for record in changed], standings)
        if revised:
            specs = [spec_text(record.spec) for record in revised]
            await view.execute(self._sql["revise"], [record.id for record in revised], specs)
        if effects.decided:
            await view.execute(self._sql["decide"], *_columns(effects.decided))

    async def decisions(
        self, view: View, chosen: DecisionFilter, before: int | None, limit: int
    ) -> Sequence[StoredDecision]:
        found = await rows(view).fetch(
            self._sql["decisions"],
            before,
            limit,
            None if chosen.queues is None else list(chosen.queues),
            chosen.job or None,
            chosen.attempt or None,
            list(chosen.kinds) or None,
            chosen.since,
        )
        return [_decision(row) for row in found]

    async def tree(self, view: View) -> tuple[int, ...]:
        row = await rows(view).fetchrow(self._sql["tree"])
        return tuple(row.values()) if row else ()


def _read(live: LiveRows, page: Sequence[Row]) -> Sequence[Record]:
    return [live.record(*row) for row in page]


def _whole(records: Sequence[Record]) -> Sequence[object]:
    return (
        [record.id for record in records],
        [record.spec.queue for record in records],
        [spec_text(record.spec) for record in records],
        [standing_text(record) for record in records],
    )


def _columns(decided: Sequence[Decided]) -> Sequence[object]:
    return (
        [moment(each.time) for each in decided],
        [each.key.job for each in decided],
        [each.key.attempt for each in decided],
        [each.queue for each in decided],
        [each.kind.value for each in decided],
        [replicas_text(each.replicas) for each in decided],
        [each.why or "" for each in decided],
        [each.beneficiary for each in decided],
    )


def _over(row: Row) -> Record:
    return over_record_of(row["id"], row["queue"], row["spec"], row["standing"])


def _decision(row: Row) -> StoredDecision:
    decided = Decided(
        time=micros(row["time"]),
        key=Key(row["job"], row["attempt"]),
        queue=row["queue"],
        kind=DecisionKind(row["kind"]),
        replicas=replicas_of(row["replicas"]),
        why=Why(row["why"]) if row["why"] else None,
        beneficiary=row["beneficiary"],
    )
    return StoredDecision(row["id"], decided)
