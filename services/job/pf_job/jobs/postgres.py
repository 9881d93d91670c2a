"""Jobs in Postgres."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

from pf_job.jobs.domain import ENDED, Counts, Happening, Job, JobFilter, Owner, Part, Task, TaskKey, TaskState
from pf_job.jobs.dues import due
from pf_job.jobs.life import Ending, Grant, Life
from pf_job.jobs.spans import Span, Turns
from pf_job.jobs.states import FINAL, Stage, State
from pf_job.jobs.store import OWED
from pf_job.specs.domain import CPU, MEMORY, JobSpec, JobType
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.sweep import Retention
from pf_kit.postgres.views import Row, rows
from pf_kit.unit import Change, View

FEW = 500
"""Jobs that are looked up one by one. Where more are wanted, the newest of all are probably among them."""

T = TypeVar("T")

RETENTIONS = (Retention("spent", "time", timedelta(days=31)),)
"""Longer than the queue service remembers attempts that were released, by which it would know a new job of that id."""


class PostgresJobStore:
    """Fulfils `JobStore` over a `PostgresDatabase`."""

    def __init__(self, *, encode: Callable[[JobSpec], bytes], decode: Callable[[bytes], JobSpec]) -> None:
        """Specs are kept as the bytes that these make of them."""
        self._sql: Mapping[str, str] = load_queries("pf_job.jobs")
        self._encode = encode
        self._decode = decode

    async def jobs(self, view: View, ids: Sequence[str]) -> Sequence[Job]:
        return self._read(await rows(view).fetch(self._sql["jobs"], list(ids)))

    async def of_parts(self, view: View, keys: Sequence[str]) -> Sequence[Job]:
        return self._read(await rows(view).fetch(self._sql["of_parts"], list(keys))) if keys else []

    async def page(self, view: View, chosen: JobFilter, before: int, limit: int) -> Sequence[Job]:
        among = await self._few(view, chosen.states)
        found = await rows(view).fetch(
            self._sql["page" if among is None else "page_among"],
            before,
            limit,
            chosen.owner or None,
            chosen.queue or None,
            None if chosen.queues is None else list(chosen.queues),
            chosen.viewer.name,
            chosen.viewer.since,
            list(chosen.states) or None,
            dict(chosen.labels),
            chosen.updated_since,
            chosen.started_since,
            chosen.name_prefix,
            *([] if among is None else [among]),
        )
        return self._read(found)

    async def _few(self, view: View, states: Collection[State]) -> Sequence[str] | None:
        """All jobs in these states, if that is quickly found out: of many that are over, few are not.

        To look for those from the newest job on would be to look at all.
        """
        if not states or not FINAL.isdisjoint(states):
            return None
        found = await rows(view).fetch(self._sql["unfinished_in"], list(states), FEW + 1)
        return [row["id"] for row in found] if len(found) <= FEW else None

    async def at(
        self, view: View, stages: Sequence[Stage], now: datetime, limit: int, without: Collection[str] = ()
    ) -> Sequence[Job]:
        return self._read(await rows(view).fetch(self._sql["at"], list(stages), now, limit, list(without)))

    async def owed_stages(self, view: View, now: datetime) -> frozenset[Stage]:
        return frozenset(Stage(row["stage"]) for row in await rows(view).fetch(self._sql["owed_stages"], OWED, now))

    async def unfinished(self, view: View, stages: Sequence[Stage], after: str, limit: int) -> Sequence[Job]:
        return self._read(await rows(view).fetch(self._sql["unfinished"], list(stages), after, limit))

    async def overdue(self, view: View, now: datetime, limit: int) -> Sequence[Job]:
        return self._read(await rows(view).fetch(self._sql["overdue"], now, limit))

    async def expired(self, view: View, now: datetime, limit: int) -> Sequence[Job]:
        return self._read(await rows(view).fetch(self._sql["expired"], now, limit))

    async def owners(self, view: View) -> Sequence[Owner]:
        return [Owner(row["owner"], row["owner_since"]) for row in await rows(view).fetch(self._sql["owners"])]

    async def owned(self, view: View, owner: Owner, after: str, limit: int) -> Sequence[Job]:
        return self._read(await rows(view).fetch(self._sql["owned"], owner.name, owner.since, after, limit))

    async def claim(self, change: Change, scope: str, epoch: int) -> int:
        highest: int = await rows(change).fetchval(self._sql["claim"], scope, epoch)
        return highest

    async def add(self, change: Change, jobs: Sequence[Job]) -> Sequence[Job]:
        if not jobs:
            return []
        asked = _columns([self._asked(job) for job in jobs])
        numbers = {row["id"]: row["number"] for row in await rows(change).fetch(self._sql["add_jobs"], *asked)}
        numbered = [replace(job, number=numbers[job.id]) for job in jobs]
        return await self._keep("add_lives", change, numbered)

    async def save(self, change: Change, jobs: Sequence[Job]) -> Sequence[Job]:
        return await self._keep("save", change, jobs)

    async def revise(self, change: Change, job: Job) -> Job:
        spec = job.spec
        await rows(change).execute(self._sql["revise"], job.id, spec.name, dict(spec.work.labels), self._encode(spec))
        return replace(job, version=await rows(change).fetchval(self._sql["touch"], job.id, change.time))

    async def remove(self, change: Change, ids: Sequence[str]) -> None:
        await rows(change).execute(self._sql["remove"], list(ids), change.time)

    async def spent(self, view: View, ids: Sequence[str]) -> frozenset[str]:
        return frozenset(row["id"] for row in await rows(view).fetch(self._sql["spent"], list(ids)))

    async def leftovers(self, view: View, until: datetime, limit: int) -> Sequence[TaskKey]:
        return [TaskKey(*row.values()) for row in await rows(view).fetch(self._sql["leftovers"], until, limit)]

    async def clear(self, change: Change, keys: Sequence[TaskKey]) -> None:
        if keys:
            await rows(change).execute(self._sql["clear"], *_columns([_key_values(key) for key in keys]))

    async def tasks(self, view: View, ids: Sequence[str], attempt: int) -> Sequence[Task]:
        return [_task(row) for row in await rows(view).fetch(self._sql["tasks"], list(ids), attempt)] if ids else []

    async def counts(self, view: View, ids: Sequence[str]) -> Mapping[str, Counts]:
        found: dict[str, dict[tuple[str, TaskState], int]] = {}
        for row in await rows(view).fetch(self._sql["counts"], list(ids)):
            found.setdefault(row["job"], {})[row["role"], TaskState(row["state"])] = row["count"]
        return found

    async def put_tasks(self, change: Change, tasks: Sequence[Task]) -> None:
        if tasks:
            await rows(change).execute(self._sql["put_tasks"], *_columns([_task_values(task) for task in tasks]))

    async def hold(self, change: Change, turns: Mapping[str, Turns]) -> None:
        if ended := [(job, each.ended) for job, each in turns.items() if each.ended is not None]:
            await rows(change).execute(self._sql["end_spans"], *_columns(ended))
        if begun := [span for each in turns.values() for span in each.begun]:
            await rows(change).execute(self._sql["add_spans"], *_columns([_span_values(span) for span in begun]))

    async def ports(self, view: View) -> frozenset[int]:
        return frozenset(
            row["port"] for row in await rows(view).fetch(self._sql["ports"], list(set(TaskState) - ENDED))
        )

    async def note(self, change: Change, happenings: Sequence[Happening]) -> None:
        if happenings:
            values = [
                (each.job, each.time, each.attempt, each.state, each.what, each.message, each.role, each.index)
                for each in happenings
            ]
            await rows(change).execute(self._sql["note"], *_columns(values))

    async def happenings(self, view: View, id_: str, after: int, limit: int) -> Sequence[Happening]:
        return [_happening(row) for row in await rows(view).fetch(self._sql["happenings"], id_, after, limit)]

    async def _keep(self, query: str, change: Change, jobs: Sequence[Job]) -> Sequence[Job]:
        if not jobs:
            return []
        lives = _columns([_life_values(job) for job in jobs])
        found = await rows(change).fetch(self._sql[query], *lives, change.time)
        versions = {row["id"]: row["version"] for row in found}
        return [replace(job, version=versions[job.id]) for job in jobs]

    def _asked(self, job: Job) -> Sequence[object]:
        """The values of the columns of `jobs`, in the order in which the query names them."""
        part, work = job.part, job.spec.work
        return (
            job.id,
            job.owner,
            job.owner_since,
            job.queue,
            job.spec.name,
            job.type,
            json.dumps(dict(work.labels)),
            self._encode(job.spec),
            json.dumps(dict(job.resources)),
            json.dumps(list(job.notes)),
            part.key if part else None,
            part.scope if part else None,
            part.epoch if part else None,
        )

    def _read(self, found: Sequence[Row]) -> Sequence[Job]:
        return [self._job(row) for row in found]

    def _job(self, row: Row) -> Job:
        key = row["part_key"]
        return Job(
            id=row["id"],
            owner=row["owner"],
            owner_since=row["owner_since"],
            type=JobType(row["type"]),
            spec=self._decode(row["spec"]),
            life=_life(row),
            resources=row["resources"],
            notes=tuple(row["notes"]),
            part=None if key is None else Part(key, row["part_scope"], row["part_epoch"]),
            version=row["version"],
            number=row["number"],
        )


def _columns(values: Sequence[Sequence[T]]) -> Sequence[Sequence[T]]:
    """The same, column by column; there is at least one row."""
    return [list(column) for column in zip(*values, strict=True)]


def _life_values(job: Job) -> Sequence[object]:
    """The values of the columns of `lives`, in the order in which the queries name them."""
    life = job.life
    return (
        job.id,
        life.state,
        life.stage,
        life.attempt,
        life.retries,
        life.ending,
        life.abrupt,
        life.message,
        None if life.grant is None else json.dumps(_held(life.grant)),
        life.not_before,
        life.accept_time,
        life.start_time,
        life.finish_time,
        due(life, job.terms),
        job.kept_until,
        None if life.crew is None else json.dumps(dict(life.crew)),
        life.settle_time,
        life.revision,
    )


def _life(row: Row) -> Life:
    return Life(
        accept_time=row["accept_time"],
        stage=Stage(row["stage"]),
        state=State(row["state"]),
        attempt=row["attempt"],
        retries=row["retries"],
        ending=None if row["ending"] is None else Ending(row["ending"]),
        abrupt=row["abrupt"],
        message=row["message"],
        grant=None if row["held"] is None else _grant(row["held"]),
        not_before=row["not_before"],
        start_time=row["start_time"],
        finish_time=row["finish_time"],
        crew=row["crew"],
        settle_time=row["settle_time"],
        revision=row["revision"],
    )


def _held(grant: Grant) -> Mapping[str, object]:
    return {
        "id": grant.id,
        "version": grant.version,
        "cluster": grant.cluster,
        "replicas": dict(grant.replicas),
        "start_by": grant.start_by.isoformat(),
        "left": None if grant.left is None else dict(grant.left),
    }


def _grant(held: Mapping[str, object]) -> Grant:
    return Grant(**{**held, "start_by": datetime.fromisoformat(str(held["start_by"]))})  # type: ignore[arg-type]


def _key_values(key: TaskKey) -> Sequence[object]:
    return key.job, key.attempt, key.role, key.index, key.restart


def _task_values(task: Task) -> Sequence[object]:
    return (
        *_key_values(task.key),
        task.state,
        task.message,
        task.machine,
        task.status,
        task.signal,
        json.dumps(task.accelerators),
        json.dumps(dict(task.ports)),
        task.start_time,
        task.finish_time,
    )


def _span_values(span: Span) -> Sequence[object]:
    cards = {name: amount for name, amount in span.held.items() if amount and name not in (CPU, MEMORY)}
    return (
        span.job,
        span.attempt,
        span.queue,
        span.owner,
        span.owner_since,
        span.accept_time,
        span.start_time,
        span.finish_time,
        span.held.get(CPU, 0),
        span.held.get(MEMORY, 0),
        json.dumps(cards),
    )


def _task(row: Row) -> Task:
    return Task(
        key=TaskKey(row["job"], row["attempt"], row["role"], row["index"], row["restart"]),
        state=TaskState(row["state"]),
        message=row["message"],
        machine=row["machine"],
        status=row["status"],
        signal=row["signal"],
        accelerators=tuple(row["accelerators"]),
        ports=row["ports"],
        start_time=row["start_time"],
        finish_time=row["finish_time"],
    )


def _happening(row: Row) -> Happening:
    return Happening(
        job=row["job"],
        number=row["number"],
        time=row["time"],
        attempt=row["attempt"],
        state=State(row["state"]),
        what=row["what"],
        message=row["message"],
        role=row["role"],
        index=row["index"],
    )
