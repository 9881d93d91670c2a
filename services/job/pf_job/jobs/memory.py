"""Jobs in memory, for tests: as durable as the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from pf_job.jobs.crew import last_starts, members
from pf_job.jobs.domain import ENDED, Counts, Happening, Job, JobFilter, Owner, Task, TaskKey
from pf_job.jobs.dues import due
from pf_job.jobs.spans import Span, Turns
from pf_job.jobs.states import Stage
from pf_job.jobs.store import OWED
from pf_kit.memory import tables
from pf_kit.unit import Change, View


class MemoryJobStore:
    """Fulfils `JobStore` over a `MemoryDatabase`."""

    async def jobs(self, view: View, ids: Sequence[str]) -> Sequence[Job]:
        jobs = _jobs(view)
        return [jobs[id_] for id_ in dict.fromkeys(ids) if id_ in jobs]

    async def of_parts(self, view: View, keys: Sequence[str]) -> Sequence[Job]:
        return [job for job in _jobs(view).values() if job.part and job.part.key in keys]

    async def page(self, view: View, chosen: JobFilter, before: int, limit: int) -> Sequence[Job]:
        updated = tables(view).table("updated")
        found = [
            job
            for job in _jobs(view).values()
            if (not before or job.number < before) and _matches(job, chosen, updated[job.id])
        ]
        return sorted(found, key=lambda job: -job.number)[:limit]

    async def at(
        self, view: View, stages: Sequence[Stage], now: datetime, limit: int, without: Collection[str] = ()
    ) -> Sequence[Job]:
        owed = [job for job in _jobs(view).values() if job.life.stage in stages and _ready(job, now)]
        return sorted((job for job in owed if job.id not in without), key=lambda job: job.version)[:limit]

    async def owed_stages(self, view: View, now: datetime) -> frozenset[Stage]:
        return frozenset([stage for stage in OWED if await self.at(view, [stage], now, 1)])

    async def unfinished(self, view: View, stages: Sequence[Stage], after: str, limit: int) -> Sequence[Job]:
        found = [job for job in _jobs(view).values() if job.life.stage in stages and job.id > after]
        return sorted(found, key=lambda job: job.id)[:limit]

    async def overdue(self, view: View, now: datetime, limit: int) -> Sequence[Job]:
        times = ((due(job.life, job.terms), job) for job in _jobs(view).values())
        late = [(time, job) for time, job in times if time is not None and time <= now]
        return [job for _, job in sorted(late, key=lambda each: each[0])][:limit]

    async def expired(self, view: View, now: datetime, limit: int) -> Sequence[Job]:
        over = ((job.kept_until, job) for job in _jobs(view).values() if job.life.stage is Stage.OVER)
        expired = [(time, job) for time, job in over if time is not None and time <= now]
        return [job for _, job in sorted(expired, key=lambda each: each[0])][:limit]

    async def owners(self, view: View) -> Sequence[Owner]:
        return list({job.whose for job in _jobs(view).values() if job.owner_since is not None})

    async def owned(self, view: View, owner: Owner, after: str, limit: int) -> Sequence[Job]:
        found = [job for job in _jobs(view).values() if job.whose == owner and job.id > after]
        return sorted(found, key=lambda job: job.id)[:limit]

    async def claim(self, change: Change, scope: str, epoch: int) -> int:
        scopes: dict[str, int] = tables(change).table("scopes")
        scopes[scope] = max(epoch, scopes.get(scope, epoch))
        return scopes[scope]

    async def add(self, change: Change, jobs: Sequence[Job]) -> Sequence[Job]:
        first = 1 + max((job.number for job in _jobs(change).values()), default=0)
        numbered = [replace(job, number=first + place) for place, job in enumerate(jobs)]
        return await self.save(change, numbered)

    async def save(self, change: Change, jobs: Sequence[Job]) -> Sequence[Job]:
        counters = tables(change).table("counters")
        saved = []
        for job in jobs:
            counters["version"] = counters.get("version", 0) + 1
            saved.append(replace(job, version=counters["version"]))
            tables(change).table("updated")[job.id] = change.time
        tables(change).table("jobs").update({job.id: job for job in saved})
        return saved

    async def revise(self, change: Change, job: Job) -> Job:
        (saved,) = await self.save(change, [job])
        return saved

    async def remove(self, change: Change, ids: Sequence[str]) -> None:
        for id_ in ids:
            del tables(change).table("jobs")[id_]
            tables(change).table("happenings").pop(id_, None)
        tasks = tables(change).table("tasks")
        for key in [key for key in tasks if key.job in ids]:
            del tasks[key]
            tables(change).table("leftovers")[key] = change.time
        tables(change).table("spent").update(dict.fromkeys(ids))

    async def spent(self, view: View, ids: Sequence[str]) -> frozenset[str]:
        spent = tables(view).table("spent")
        return frozenset(id_ for id_ in ids if id_ in _jobs(view) or id_ in spent)

    async def leftovers(self, view: View, until: datetime, limit: int) -> Sequence[TaskKey]:
        found: dict[TaskKey, datetime] = tables(view).table("leftovers")
        return sorted((key for key, time in found.items() if time <= until), key=lambda key: found[key])[:limit]

    async def clear(self, change: Change, keys: Sequence[TaskKey]) -> None:
        for key in keys:
            tables(change).table("leftovers").pop(key, None)

    async def tasks(self, view: View, ids: Sequence[str], attempt: int) -> Sequence[Task]:
        stored: dict[TaskKey, Task] = tables(view).table("tasks")
        return [stored[key] for key in sorted(stored) if key.job in ids and attempt in (0, key.attempt)]

    async def counts(self, view: View, ids: Sequence[str]) -> Mapping[str, Counts]:
        tasks = await self.tasks(view, ids, 0)
        found: dict[str, Counts] = {}
        for job in await self.jobs(view, ids):
            last = last_starts(job, [task for task in tasks if task.key.job == job.id])
            crew = last if job.life.crew is None else members(job, last)
            if crew:
                found[job.id] = Counter((task.key.role, task.state) for task in crew)
        return found

    async def put_tasks(self, change: Change, tasks: Sequence[Task]) -> None:
        tables(change).table("tasks").update({task.key: task for task in tasks})

    async def hold(self, change: Change, turns: Mapping[str, Turns]) -> None:
        held: list[Span] = tables(change).table("spans").setdefault("all", [])
        for job, each in turns.items():
            if each.ended is not None:
                held[:] = [_ended(span, each.ended) if span.job == job else span for span in held]
            held += each.begun

    async def ports(self, view: View) -> frozenset[int]:
        stored: dict[TaskKey, Task] = tables(view).table("tasks")
        return frozenset(port for task in stored.values() if task.state not in ENDED for port in task.ports.values())

    async def note(self, change: Change, happenings: Sequence[Happening]) -> None:
        stored: dict[str, tuple[Happening, ...]] = tables(change).table("happenings")
        for happening in happenings:
            before = stored.get(happening.job, ())
            stored[happening.job] = (*before, replace(happening, number=len(before) + 1))

    async def happenings(self, view: View, id_: str, after: int, limit: int) -> Sequence[Happening]:
        stored: tuple[Happening, ...] = tables(view).table("happenings").get(id_, ())
        return stored[after : after + limit]


def _jobs(view: View) -> dict[str, Job]:
    return tables(view).table("jobs")


def _ended(span: Span, time: datetime) -> Span:
    return span if span.finish_time is not None else replace(span, finish_time=max(span.start_time, time))


def _ready(job: Job, now: datetime) -> bool:
    waits = job.life.not_before if job.life.stage is Stage.SUBMIT else None
    return waits is None or waits <= now


def _matches(job: Job, chosen: JobFilter, updated: datetime) -> bool:
    return all(_conditions(job, chosen, updated))


def _conditions(job: Job, chosen: JobFilter, updated: datetime) -> Iterator[bool]:
    yield chosen.owner in ("", job.owner)
    yield chosen.queue in ("", job.queue)
    if chosen.queues is not None:
        own = job.owner == chosen.viewer.name
        yield job.whose.is_of(chosen.viewer) if own else job.queue in chosen.queues
    yield not chosen.states or job.life.state in chosen.states
    yield chosen.labels.items() <= job.spec.work.labels.items()
    yield chosen.updated_since is None or updated >= chosen.updated_since
    started = job.life.start_time
    yield chosen.started_since is None or (started is not None and started >= chosen.started_since)
    yield job.spec.name.startswith(chosen.name_prefix)
