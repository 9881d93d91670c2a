"""What can be done with jobs.

Methods that take a `Change` are one step of it: whoever calls them holds the locks of the jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from paddleflow.problems import (
    EtagMismatch,
    JobExists,
    JobNotFound,
    JobStateConflict,
    OwnerEpochConflict,
    PermissionDenied,
    Problem,
)
from pf_job.jobs.domain import Happening, Job, JobChanged, JobFilter, Owner, Part, Task
from pf_job.jobs.life import Event
from pf_job.jobs.sight import Sight
from pf_job.jobs.states import Kind, Stage
from pf_job.jobs.store import JobStore
from pf_job.jobs.telling import News, tell
from pf_job.specs.domain import Priority, Work
from pf_job.specs.fields import few_pairs
from pf_kit.fields import require
from pf_kit.principal import Principal
from pf_kit.turns import by_turns
from pf_kit.unit import Change, View


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to change of a job."""

    priority: Priority | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    labels_removed: Sequence[str] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    annotations_removed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job that somebody wants."""

    job: Job | Problem
    """As it can be kept, or why it cannot be taken."""
    part: Part | None = None
    owner: Owner | None = None
    """None if it has none that there is."""


class Jobs:
    """The jobs, as callers may use them."""

    def __init__(self, *, store: JobStore, sight: Sight) -> None:
        self._store = store
        self._sight = sight

    async def get(self, view: View, caller: Principal, id_: str) -> Job:
        """The job of this id. Raises JobNotFound, also if the caller may not see it."""
        job = await self._existing(view, id_)
        if not await self._sight.sees(caller, job.whose, job.queue):
            raise _not_found(id_)
        return job

    async def require_own(self, view: View, caller: Principal, id_: str) -> None:
        """Raises JobNotFound or PermissionDenied, unless the caller may change a job. Before the change: it may ask
        other services. Of a job that there is not the change tells: the request may have been answered before.
        """
        for job in await self._known(view, id_):
            if await self._sight.owns(caller, job.whose):
                return
            await self.get(view, caller, id_)
            raise PermissionDenied(f"job {id_!r} is {job.owner}'s; ask for it to be changed")

    async def page(self, view: View, caller: Principal, chosen: JobFilter, before: int, limit: int) -> Sequence[Job]:
        """The jobs that the caller may see, newest first."""
        if not caller.root:
            viewer, queues = await self._sight.identity(caller), await self._sight.granted(caller)
            chosen = replace(chosen, viewer=viewer, queues=queues)
        return await self._store.page(view, chosen, before, limit)

    async def create(self, change: Change, drafts: Sequence[Job]) -> Sequence[Job]:
        """Keeps new jobs. Raises JobExists and OwnerEpochConflict."""
        if spent := await self._store.spent(change, [draft.id for draft in drafts]):
            raise exists(min(spent))
        accepted = [replace(draft, life=replace(draft.life, accept_time=change.time)) for draft in drafts]
        added = await self._store.add(change, accepted)
        await self._store.note(change, [_accepted(job) for job in added])
        async for job in by_turns(added):
            change.emit(JobChanged(job, born=True))
        return added

    async def create_all(self, change: Change, wanted: Sequence[Wanted]) -> Sequence[Job | Problem]:
        """Keeps new jobs, or finds those that are the same parts of something; or tells why a job is not taken."""
        parts = [each.part for each in wanted if each.part]
        known = {
            job.part.key: job for job in await self._store.of_parts(change, [part.key for part in parts]) if job.part
        }
        epochs = {scope: await self._claimed(change, scope, parts) for scope in sorted({part.scope for part in parts})}
        found = [_found(each, known, epochs) for each in wanted]
        ready = [each for each in found if isinstance(each, Job) and not (each.part and each.part.key in known)]
        spent = await self._store.spent(change, [job.id for job in ready])
        added = {job.id: job for job in await self.create(change, [job for job in ready if job.id not in spent])}
        fresh = {job.id: added.get(job.id) or exists(job.id) for job in ready}
        return [each if isinstance(each, Problem) else fresh.get(each.id, each) for each in found]

    async def take_over(self, change: Change, part: Part) -> None:
        """Keeps those with lower epochs from doing more for a scope. Raises OwnerEpochConflict if one has a higher."""
        if (highest := await self._claimed(change, part.scope, [part])) > part.epoch:
            raise _overtaken(part, highest)

    async def _claimed(self, change: Change, scope: str, parts: Sequence[Part]) -> int:
        """The highest epoch that a scope was ever used with."""
        return await self._store.claim(change, scope, max(part.epoch for part in parts if part.scope == scope))

    async def stop(self, change: Change, caller: Principal, id_: str, *, now: bool) -> Job:
        """Ends a job; one that is over stays as it is. Raises JobNotFound and PermissionDenied."""
        job = await self._own(change, caller, id_)
        event = Event(kind=Kind.STOPPED, attempt=0, message=f"stopped by {caller.name}", abrupt=now)
        changed = await tell(self._store, change, [News(id_, event)])
        return changed[0] if changed else job

    async def update(self, change: Change, caller: Principal, id_: str, edit: Edit, etag: str) -> Job:
        """Changes a job. Raises what UpdateJob's contract lists."""
        job = await self._own(change, caller, id_)
        _require_etag(job, etag)
        edited = replace(job, spec=replace(job.spec, work=_edited(job.spec.work, edit)))
        _require_few(edited.spec.work)
        if edited == job:
            return job
        saved = await self._store.revise(change, edited)
        if (priority := edit.priority) not in (None, job.spec.work.scheduling_policy.priority):
            saved = await self._reprioritize(change, job, f"priority {priority}, as {caller.name} wants it")
        change.emit(JobChanged(saved))
        return saved

    async def delete(self, change: Change, caller: Principal, id_: str, etag: str) -> None:
        """Forgets a job that is over. Raises what DeleteJob's contract lists."""
        job = await self._own(change, caller, id_)
        _require_etag(job, etag)
        if job.life.stage is not Stage.OVER:
            raise JobStateConflict(f"job {id_!r} is {job.life.state}; stop it, and wait until it is over")
        await forget(self._store, change, [job])

    async def tasks(self, view: View, caller: Principal, id_: str, attempt: int) -> Sequence[Task]:
        """The replicas of a job: of one attempt, of the last if it is 0, of all if it is -1. Raises JobNotFound."""
        job = await self.get(view, caller, id_)
        wanted = {0: job.life.attempt, -1: 0}.get(attempt, attempt)
        return await self._store.tasks(view, [id_], wanted)

    async def happenings(self, view: View, caller: Principal, id_: str, after: int, limit: int) -> Sequence[Happening]:
        """What happened to a job, oldest first. Raises JobNotFound."""
        await self.get(view, caller, id_)
        return await self._store.happenings(view, id_, after, limit)

    async def _reprioritize(self, change: Change, job: Job, message: str) -> Job:
        """The queue is to hear of it. Raises JobStateConflict unless the job waits."""
        if not job.life.waits:
            raise JobStateConflict(
                f"job {job.id!r} is {job.life.state}: its priority can be changed only while it waits"
            )
        event = Event(kind=Kind.CHANGED, attempt=0, message=message)
        (changed,) = await tell(self._store, change, [News(job.id, event)])
        return changed

    async def _own(self, view: View, caller: Principal, id_: str) -> Job:
        """A job that the caller may change; others were told why not by `require_own`."""
        job = await self._existing(view, id_)
        if not await self._sight.owns(caller, job.whose):
            raise _not_found(id_)
        return job

    async def _existing(self, view: View, id_: str) -> Job:
        for job in await self._known(view, id_):
            return job
        raise _not_found(id_)

    async def _known(self, view: View, id_: str) -> Sequence[Job]:
        """The job of an id, if there is one. Postgres takes no text with a NUL, not even to look for it."""
        return await self._store.jobs(view, [id_]) if "\0" not in id_ else []


async def forget(store: JobStore, change: Change, jobs: Sequence[Job]) -> None:
    """Forgets jobs that are over."""
    await store.remove(change, [job.id for job in jobs])
    for job in jobs:
        change.emit(JobChanged(replace(job, version=job.version + 1), forgotten=True))


def _found(wanted: Wanted, known: Mapping[str, Job], epochs: Mapping[str, int]) -> Job | Problem:
    """A part that there is, whatever is in the way of making it by now; else what is to be made, or why it is not."""
    part = wanted.part
    if part is None:
        return wanted.job
    if epochs[part.scope] > part.epoch:
        return _overtaken(part, epochs[part.scope])
    there = known.get(part.key)
    if there is not None and (wanted.owner is None or not there.whose.is_of(wanted.owner)):
        return wanted.job if isinstance(wanted.job, Problem) else exists(wanted.job.id)
    return there or wanted.job


def _overtaken(part: Part, highest: int) -> OwnerEpochConflict:
    return OwnerEpochConflict(f"{part.scope} was taken over: its epoch is {highest}, and not {part.epoch}; stop")


def exists(id_: str) -> JobExists:
    return JobExists(f"there is a job {id_!r}, or was one not long ago; choose another id, or none")


def _edited(work: Work, edit: Edit) -> Work:
    policy = work.scheduling_policy
    return replace(
        work,
        labels=_merged(work.labels, edit.labels, edit.labels_removed),
        annotations=_merged(work.annotations, edit.annotations, edit.annotations_removed),
        scheduling_policy=replace(policy, priority=edit.priority or policy.priority),
    )


def _merged(kept: Mapping[str, str], given: Mapping[str, str], removed: Sequence[str]) -> Mapping[str, str]:
    return {name: value for name, value in {**kept, **given}.items() if name not in removed}


def _require_few(work: Work) -> None:
    """Raises InvalidArgument if what was there and what was added are too many together."""
    require(few_pairs("labels", work.labels), few_pairs("annotations", work.annotations))


def _require_etag(job: Job, etag: str) -> None:
    if etag not in ("", job.etag):
        raise EtagMismatch(f"job {job.id!r} has changed since it was read; read it again")


def _accepted(job: Job) -> Happening:
    life = job.life
    return Happening(job=job.id, number=0, time=life.accept_time, attempt=1, state=life.state, what="accepted")


def _not_found(id_: str) -> JobNotFound:
    return JobNotFound(f"no job {id_[:63]!r}")
