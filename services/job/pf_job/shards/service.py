"""What can be done with datasets and their shards.

Methods that take a `Change` are one step of it: whoever calls them holds the lock of the job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paddleflow.problems import (
    DatasetDiffers,
    DatasetNotFound,
    FailedPrecondition,
    InvalidArgument,
    JobNotFound,
    Problem,
    Violation,
)
from pf_job.jobs.bearers import Bearer, bearer_of, require_alive
from pf_job.jobs.domain import Happening, Job
from pf_job.jobs.service import Jobs
from pf_job.jobs.store import JobStore
from pf_job.shards.domain import Dataset, DatasetKey, Plan, begun_anew
from pf_job.shards.sheet import Ask, Finish, GiveBack, News, Outcome, Renew, Sheet, Wish
from pf_job.shards.store import Place, ShardStore
from pf_kit.principal import Principal
from pf_kit.unit import Change, View

MOST_DATASETS = 20
"""Of a job: their items alone may be 3 MiB each."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a replica asks about a dataset."""

    bearer: Bearer
    dataset: str
    ask: Ask


@dataclass(frozen=True, slots=True)
class Answer:
    """What a replica is answered."""

    dataset: Dataset
    """As it is afterwards."""
    outcome: Outcome


class Shards:
    """The datasets of jobs, as callers may use them."""

    def __init__(self, *, store: ShardStore, kept: JobStore, jobs: Jobs) -> None:
        self._store = store
        self._kept = kept
        self._jobs = jobs

    async def visible(self, view: View, caller: Principal, id_: str) -> str:
        """The id of a job at which the caller may look; that of its token, if it has one and names none.

        Raises JobNotFound and TokenRevoked.
        """
        bearer = bearer_of(caller)
        return (await self._own(view, bearer, id_) if bearer else await self._jobs.get(view, caller, id_)).id

    async def changeable(self, view: View, caller: Principal, id_: str) -> str:
        """The same of a job whose datasets the caller may change. Raises PermissionDenied too."""
        if bearer_of(caller) is None:
            await self._jobs.require_own(view, caller, id_)
        return await self.visible(view, caller, id_)

    async def open(self, change: Change, key: DatasetKey, plan: Plan, items: Sequence[str]) -> Dataset:
        """The dataset of a name, made if there is none. Raises what OpenDataset's contract lists."""
        await self._require_job(change, key.job)
        for known in await self._store.datasets(change, key.job, [key.name]):
            if known.plan != plan:
                raise DatasetDiffers(
                    f"dataset {key.name!r} of job {key.job!r} was described otherwise; choose another name"
                )
            return known
        if len(await self._store.page(change, key.job, "", MOST_DATASETS)) == MOST_DATASETS:
            raise FailedPrecondition(f"job {key.job!r} has {MOST_DATASETS} datasets; use those")
        made = Dataset(key=key, plan=plan, create_time=change.time, update_time=change.time)
        await self._store.add(change, made, items)
        return made

    async def reset(self, change: Change, key: DatasetKey, pass_: int) -> Dataset:
        """Lets a dataset begin anew at a pass. Raises DatasetNotFound and InvalidArgument."""
        dataset = await self.get(change, key)
        if pass_ > dataset.plan.passes:
            raise InvalidArgument.of(Violation("pass_number", f"must be from 1 to {dataset.plan.passes}"))
        begun = begun_anew(dataset, pass_, change.time)
        await self._store.clear(change, key)
        await self._store.keep(change, begun, [], [])
        return begun

    async def get(self, view: View, key: DatasetKey) -> Dataset:
        for dataset in await self._store.datasets(view, key.job, [key.name]):
            return dataset
        raise _not_found(key)

    async def serve(self, change: Change, id_: str, calls: Sequence[Call]) -> Sequence[Answer | Problem]:
        """The answers to replicas of a job, one after the other."""
        job = next(iter(await self._kept.jobs(change, [id_])), None)
        names = sorted({call.dataset for call in calls})
        sheets = {
            dataset.key.name: await self._sheet(change, dataset, [call.ask for call in calls if _is_of(call, dataset)])
            for dataset in await self._store.datasets(change, id_, names)
        }
        answers = [_answer(job, sheets, call) for call in calls]
        for sheet in sheets.values():
            await self._save(change, sheet)
        if job is not None:
            await self._tell(change, job, [news for sheet in sheets.values() for news in sheet.news])
        return answers

    async def _sheet(self, change: Change, dataset: Dataset, asks: Sequence[Ask]) -> Sheet:
        wishes = [ask for ask in asks if isinstance(ask, Wish)]
        places, requests = _places(asks), [wish.request for wish in wishes if wish.request]
        known = await self._store.named(change, dataset.key, places, requests) if places or requests else []
        ahead = dataset.plan.shards - dataset.handed
        claims = (
            await self._store.claims(change, dataset.key, change.time, 2 * len(wishes))
            if not dataset.over and ahead < len(wishes)
            else []
        )
        return Sheet(dataset, known, claims, change.time)

    async def _save(self, change: Change, sheet: Sheet) -> None:
        if sheet.changed:
            await self._store.keep(change, sheet.dataset, sheet.put, sheet.gone)

    async def _tell(self, change: Change, job: Job, news: Sequence[News]) -> None:
        await self._kept.note(change, [_happening(change, job, each) for each in news])

    async def _own(self, view: View, bearer: Bearer, id_: str) -> Job:
        own = bearer.replica.job
        if id_ not in ("", own):
            raise JobNotFound(f"no job {id_[:63]!r}: the token is that of job {own!r}")
        return require_alive(next(iter(await self._kept.jobs(view, [own])), None), bearer)

    async def _require_job(self, view: View, id_: str) -> None:
        """It may have been deleted since the caller was let in."""
        if not await self._kept.jobs(view, [id_]):
            raise JobNotFound(f"no job {id_!r}")


def _answer(job: Job | None, sheets: Mapping[str, Sheet], call: Call) -> Answer | Problem:
    try:
        require_alive(job, call.bearer)
        if call.dataset not in sheets:
            raise _not_found(DatasetKey(call.bearer.replica.job, call.dataset))
    except Problem as problem:
        return problem
    sheet = sheets[call.dataset]
    outcome = sheet.answer(call.ask)
    return Answer(sheet.dataset, outcome)


def _places(asks: Sequence[Ask]) -> Sequence[Place]:
    """The shards that are asked about."""
    found: set[Place] = set()
    for ask in asks:
        match ask:
            case Finish(lease) | GiveBack(lease):
                found.add(lease.place)
            case Renew(leases):
                found.update(lease.place for lease in leases)
    return sorted(found)


def _is_of(call: Call, dataset: Dataset) -> bool:
    return call.dataset == dataset.key.name


def _happening(change: Change, job: Job, news: News) -> Happening:
    holder = news.holder
    return Happening(
        job=job.id,
        number=0,
        time=change.time,
        attempt=job.life.attempt,
        state=job.life.state,
        what=news.what,
        message=news.message,
        role=holder.role if holder else "",
        index=holder.index if holder else 0,
    )


def _not_found(key: DatasetKey) -> DatasetNotFound:
    return DatasetNotFound(f"job {key.job!r} has no dataset {key.name[:63]!r}; open it first")
