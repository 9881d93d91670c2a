"""What every store of jobs promises, asked of each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any

import pytest

from pf_job.jobs.domain import Happening, Job, JobFilter, Owner, Part, Task, TaskKey, TaskState
from pf_job.jobs.life import Ending, Grant, Life
from pf_job.jobs.memory import MemoryJobStore
from pf_job.jobs.postgres import FEW, PostgresJobStore
from pf_job.jobs.states import Stage, State
from pf_job.jobs.store import JobStore, job_lock, scope_lock
from pf_job.specs.domain import Flavour, JobSpec, JobType, SchedulingPolicy, TimeLimits, Work
from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Database
from support.databases import fresh_database, migrated

MIGRATIONS = files("pf_job") / "sql" / "migrations"
NOW = datetime(2030, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
GRANT = Grant("g", 3, "local", {"worker": 2, "pserver": 1}, NOW + HOUR, {"worker": 1, "pserver": 1})
Kept = tuple[Database, JobStore]


class Specs:
    """Keeps specs by a number, which stands for what is made of them elsewhere."""

    def __init__(self) -> None:
        self._known: list[JobSpec] = []

    def encode(self, spec: JobSpec) -> bytes:
        self._known.append(spec)
        return str(len(self._known) - 1).encode()

    def decode(self, data: bytes) -> JobSpec:
        return self._known[int(data)]


def no_events(event: object) -> Fact:
    raise TypeError(event)


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        yield MemoryDatabase(encode=no_events, clock=SystemClock()), MemoryJobStore()
        return
    specs = Specs()
    async with (
        fresh_database(request.getfixturevalue("postgres_server")) as dsn,
        migrated(dsn, no_events, schema="job", folders=[MIGRATIONS]) as database,
    ):
        yield database, PostgresJobStore(encode=specs.encode, decode=specs.decode)


def job(id_: str, *, queue: str = "q", owner: str = "alice", **life: object) -> Job:
    labels = {"of": owner, "team": "a"}
    work = Work(labels=labels, scheduling_policy=SchedulingPolicy(queue=queue), flavour=Flavour(amounts={"cpu": 1}))
    spec = JobSpec(id=id_, name=f"name-{id_}", work=work, limits=TimeLimits(kept=HOUR, run=HOUR))
    return Job(
        id=id_,
        owner=owner,
        owner_since=NOW,
        type=JobType.SINGLE,
        spec=spec,
        life=replace(Life(accept_time=NOW), **life),  # type: ignore[arg-type]
        resources={"cpu": 1, "memory": 2**40},
        notes=("images are passed over",),
    )


async def keep(kept: Kept, *jobs: Job) -> Sequence[Job]:
    database, store = kept
    async with database.change(*(job_lock(each.id) for each in jobs)) as change:
        return await store.add(change, jobs)


async def listed(kept: Kept, chosen: JobFilter, before: int = 0, limit: int = 100) -> list[str]:
    database, store = kept
    return [found.id for found in await store.page(database.newest, chosen, before, limit)]


FULL: dict[str, Any] = {
    "stage": Stage.HALT,
    "state": State.TERMINATING,
    "attempt": 3,
    "retries": 2,
    "ending": Ending.STOPPED,
    "abrupt": True,
    "message": "stopped by ä",
    "grant": GRANT,
    "not_before": NOW + HOUR,
    "start_time": NOW,
    "finish_time": NOW + HOUR,
    "crew": {"worker": 1, "pserver": 1},
    "settle_time": NOW,
    "revision": 3,
}


async def test_a_job_is_kept_as_it_was_given(kept: Kept) -> None:
    database, store = kept
    whole = replace(job("full", **FULL), part=Part("run-1/a/0/1", "run-1", 7))
    bare, full = await keep(kept, job("bare"), whole)
    assert (bare.number, bare.version) < (full.number, full.version)
    found = {each.id: each for each in await store.jobs(database.newest, ["full", "bare", "none", "full"])}
    assert found == {"bare": bare, "full": full}
    assert full == replace(whole, number=full.number, version=full.version)


async def test_a_part_is_found_by_its_key(kept: Kept) -> None:
    database, store = kept
    (part,) = await keep(kept, replace(job("part"), part=Part("run-1/a/0/1", "run-1", 1)))
    assert list(await store.of_parts(database.newest, ["run-1/a/0/1", "run-1/a/0/2"])) == [part]
    assert list(await store.of_parts(database.newest, [])) == []


async def test_where_a_job_stands_is_replaced_and_has_a_new_version(kept: Kept) -> None:
    database, store = kept
    (before,) = await keep(kept, job("a"))
    moved = replace(before, life=replace(before.life, **FULL))
    async with database.change(job_lock("a")) as change:
        (after,) = await store.save(change, [moved])
    assert after.version > before.version
    assert list(await store.jobs(database.newest, ["a"])) == [after]
    assert after == replace(moved, version=after.version)


async def test_what_is_asked_for_may_be_revised(kept: Kept) -> None:
    database, store = kept
    (before,) = await keep(kept, job("a", **FULL))
    work = replace(before.spec.work, labels={"new": "1"})
    async with database.change(job_lock("a")) as change:
        after = await store.revise(change, replace(before, spec=replace(before.spec, work=work, name="other")))
    assert after.version > before.version
    assert list(await store.jobs(database.newest, ["a"])) == [after]
    assert await listed(kept, JobFilter(labels={"new": "1"})) == ["a"]
    assert await listed(kept, JobFilter(labels={"team": "a"})) == []


async def test_lists_are_newest_first_and_in_pages(kept: Kept) -> None:
    jobs = await keep(kept, *(job(f"j{number}") for number in range(5)))
    assert await listed(kept, JobFilter(), limit=2) == ["j4", "j3"]
    assert await listed(kept, JobFilter(), before=jobs[3].number, limit=2) == ["j2", "j1"]


@pytest.mark.parametrize(
    ("chosen", "found"),
    [
        (JobFilter(), ["c", "b", "a"]),
        (JobFilter(owner="alice"), ["b", "a"]),
        (JobFilter(queue="r"), ["c", "b"]),
        (JobFilter(queues=frozenset({"q"}), viewer=Owner("bob", NOW)), ["c", "a"]),
        (JobFilter(queues=frozenset(), viewer=Owner("carol", NOW)), []),
        (JobFilter(queues=frozenset({"q", "r"}), viewer=Owner("alice", NOW + HOUR)), ["c"]),
        (JobFilter(states=frozenset({State.RUNNING, State.FAILED})), ["b"]),
        (JobFilter(labels={"of": "bob", "team": "a"}), ["c"]),
        (JobFilter(labels={"of": "bob", "team": "b"}), []),
        (JobFilter(started_since=NOW), ["b"]),
        (JobFilter(started_since=NOW + HOUR), []),
        (JobFilter(updated_since=NOW - 365 * 10 * 24 * HOUR), ["c", "b", "a"]),
        (JobFilter(updated_since=NOW + 365 * 24 * HOUR), []),
        (JobFilter(name_prefix="name-"), ["c", "b", "a"]),
        (JobFilter(name_prefix="name-b"), ["b"]),
        (JobFilter(name_prefix="%"), []),
    ],
)
async def test_lists_can_be_filtered(kept: Kept, chosen: JobFilter, found: list[str]) -> None:
    running = job("b", queue="r", state=State.RUNNING, stage=Stage.WATCH, start_time=NOW)
    await keep(kept, job("a"), running, job("c", queue="r", owner="bob"))
    assert await listed(kept, chosen) == found


async def test_few_that_are_not_over_are_found_among_many_that_are(kept: Kept) -> None:
    over: dict[str, Any] = {"stage": Stage.OVER, "state": State.FAILED}
    await keep(kept, *(job(f"{number}", **over) for number in range(20)))
    await keep(kept, job("ends", stage=Stage.RELEASE, state=State.FAILED), job("waits"))
    await keep(kept, job("runs", stage=Stage.WATCH, state=State.RUNNING), *(job(f"o{n}", **over) for n in range(20)))
    unfinished = JobFilter(states=frozenset({State.INIT, State.PENDING, State.RUNNING}))
    assert await listed(kept, unfinished) == ["runs", "waits"]
    assert await listed(kept, replace(unfinished, name_prefix="name-w")) == ["waits"]
    assert "ends" in await listed(kept, JobFilter(states=frozenset({State.FAILED, State.RUNNING})))


async def test_many_that_are_not_over_are_found_as_well(kept: Kept) -> None:
    await keep(kept, *(job(f"{number:04}") for number in range(FEW + 10)))
    found = await listed(kept, JobFilter(states=frozenset({State.INIT, State.PENDING})), limit=FEW + 20)
    assert found == sorted(found, reverse=True)
    assert len(found) == FEW + 10


async def test_what_is_owed_comes_in_the_order_in_which_it_came_there(kept: Kept) -> None:
    database, store = kept
    first, *_ = await keep(kept, job("a"), job("b"), job("c", stage=Stage.WATCH), job("d", not_before=NOW + HOUR))
    async with database.change(job_lock("a")) as change:
        await store.save(change, [first])
    owed = await store.at(database.newest, [Stage.SUBMIT], NOW, 10)
    assert [each.id for each in owed] == ["b", "a"]
    owed = await store.at(database.newest, [Stage.SUBMIT, Stage.HALT], NOW + HOUR, 2)
    assert [each.id for each in owed] == ["b", "d"]


async def test_it_is_known_at_which_stages_jobs_are_owed_something(kept: Kept) -> None:
    database, store = kept
    await keep(kept, job("a", not_before=NOW + HOUR), job("b", stage=Stage.WATCH), job("c", stage=Stage.OVER))
    assert await store.owed_stages(database.newest, NOW) == frozenset()
    assert await store.owed_stages(database.newest, NOW + HOUR) == {Stage.SUBMIT}
    await keep(kept, job("d", stage=Stage.HALT, not_before=NOW + HOUR))
    assert await store.owed_stages(database.newest, NOW) == {Stage.HALT}
    assert await store.owed_stages(database.newest, NOW + HOUR) == {Stage.SUBMIT, Stage.HALT}


async def test_unfinished_jobs_are_found_by_stage_in_the_order_of_ids(kept: Kept) -> None:
    database, store = kept
    await keep(kept, job("c"), job("b", stage=Stage.WATCH), job("a"), job("d", stage=Stage.OVER))
    stages = [Stage.SUBMIT, Stage.WATCH]
    found = [each.id for each in await store.unfinished(database.newest, stages, "a", 2)]
    assert found == ["b", "c"]
    assert [each.id for each in await store.unfinished(database.newest, [Stage.WATCH], "", 10)] == ["b"]


async def test_limits_of_time_are_found_when_they_are_over(kept: Kept) -> None:
    database, store = kept
    running: dict[str, Any] = {"stage": Stage.WATCH, "state": State.RUNNING}
    early, late = job("early", **running, start_time=NOW - HOUR), job("late", **running, start_time=NOW)
    await keep(kept, late, early, job("waits"))
    for time, found in ((NOW - timedelta(seconds=1), []), (NOW, ["early"]), (NOW + HOUR, ["early", "late"])):
        assert [each.id for each in await store.overdue(database.newest, time, 10)] == found


async def test_whatever_is_over_expires(kept: Kept) -> None:
    database, store = kept
    over: dict[str, Any] = {"stage": Stage.OVER, "state": State.FAILED}
    await keep(kept, job("new", **over, finish_time=NOW), job("old", **over, finish_time=NOW - HOUR), job("waits"))
    await keep(kept, job("owed", state=State.FAILED, stage=Stage.RELEASE, finish_time=NOW - HOUR))
    assert [each.id for each in await store.expired(database.newest, NOW, 10)] == ["old"]
    assert [each.id for each in await store.expired(database.newest, NOW + HOUR, 10)] == ["old", "new"]


async def test_a_scope_remembers_its_highest_epoch(kept: Kept) -> None:
    database, store = kept
    for epoch, highest in ((3, 3), (2, 3), (4, 4), (4, 4)):
        async with database.change(scope_lock("run-1")) as change:
            assert await store.claim(change, "run-1", epoch) == highest
    async with database.change(scope_lock("run-2")) as change:
        assert await store.claim(change, "run-2", 1) == 1


def task(job_id: str, index: int, attempt: int = 1, **fields: object) -> Task:
    return replace(Task(key=TaskKey(job_id, attempt, "worker", index)), **fields)  # type: ignore[arg-type]


async def test_tasks_are_kept_and_replaced(kept: Kept) -> None:
    database, store = kept
    await keep(kept, job("a"), job("b"))
    ended = task(
        "a",
        1,
        state=TaskState.FAILED,
        message="killed",
        machine="m",
        signal=9,
        accelerators=(0, 3),
        ports={"trainer": 36000},
        start_time=NOW,
        finish_time=NOW + HOUR,
    )
    async with database.change(job_lock("a"), job_lock("b")) as change:
        await store.put_tasks(change, [task("a", 1), task("a", 0, status=0), task("b", 0), task("a", 0, attempt=2)])
    async with database.change(job_lock("a")) as change:
        await store.put_tasks(change, [ended])
    assert list(await store.tasks(database.newest, ["a"], 1)) == [task("a", 0, status=0), ended]
    everything = await store.tasks(database.newest, ["a", "b"], 0)
    assert [(each.key.job, each.key.attempt, each.key.index) for each in everything] == [
        ("a", 1, 0),
        ("a", 1, 1),
        ("a", 2, 0),
        ("b", 1, 0),
    ]


def happening(job_id: str, what: str) -> Happening:
    return Happening(job=job_id, number=0, time=NOW, attempt=1, state=State.PENDING, what=what, role="worker", index=2)


async def test_ports_are_known_as_long_as_somebody_may_listen_on_them(kept: Kept) -> None:
    database, store = kept
    await keep(kept, job("a"))
    over = task("a", 0, state=TaskState.SUCCEEDED, ports={"x": 1})
    async with database.change(job_lock("a")) as change:
        await store.put_tasks(change, [over, task("a", 1, ports={"x": 2, "y": 3}), task("a", 2)])
    assert await store.ports(database.newest) == {2, 3}


async def test_happenings_are_numbered_as_they_come(kept: Kept) -> None:
    database, store = kept
    await keep(kept, job("a"), job("b"))
    async with database.change(job_lock("a"), job_lock("b")) as change:
        await store.note(change, [happening("a", "one"), happening("b", "one"), happening("a", "two")])
    async with database.change(job_lock("a")) as change:
        await store.note(change, [happening("a", "three")])
    found = await store.happenings(database.newest, "a", 0, 10)
    assert [(each.number, each.what) for each in found] == [(1, "one"), (2, "two"), (3, "three")]
    assert found[0] == replace(happening("a", "one"), number=1)
    assert [each.what for each in await store.happenings(database.newest, "a", 1, 1)] == ["two"]


async def test_replicas_are_counted_by_how_they_were_started_last(kept: Kept) -> None:
    database, store = kept
    await keep(kept, job("a", attempt=2), job("b"), job("c"))
    first = task("a", 0, attempt=2)
    tasks = [
        task("a", 0, attempt=1),
        replace(first, state=TaskState.FAILED),
        replace(first, key=replace(first.key, restart=1), state=TaskState.RUNNING),
        replace(task("a", 1, attempt=2), state=TaskState.RUNNING),
        replace(task("a", 2, attempt=2), state=TaskState.SUCCEEDED),
        task("b", 0),
    ]
    async with database.change(job_lock("a"), job_lock("b")) as change:
        await store.put_tasks(change, tasks)
    role = first.key.role
    assert await store.counts(database.newest, ["a", "c", "none"]) == {
        "a": {(role, TaskState.RUNNING): 2, (role, TaskState.SUCCEEDED): 1}
    }


async def test_only_replicas_of_the_crew_are_counted(kept: Kept) -> None:
    database, store = kept
    await keep(kept, job("a", crew={task("a", 0).key.role: 2}))
    async with database.change(job_lock("a")) as change:
        await store.put_tasks(change, [task("a", index) for index in range(4)])
    ((_, count),) = (await store.counts(database.newest, ["a"]))["a"].items()
    assert count == 2


async def test_what_is_forgotten_leaves_nothing(kept: Kept) -> None:
    database, store = kept
    await keep(kept, job("a"), job("b"))
    async with database.change(job_lock("a"), job_lock("b")) as change:
        await store.put_tasks(change, [task("a", 0), task("b", 0)])
        await store.note(change, [happening("a", "one"), happening("b", "one")])
        await store.remove(change, ["a"])
    assert [each.id for each in await store.jobs(database.newest, ["a", "b"])] == ["b"]
    assert [each.key.job for each in await store.tasks(database.newest, ["a", "b"], 0)] == ["b"]
    assert list(await store.happenings(database.newest, "a", 0, 10)) == []
    assert len(await store.happenings(database.newest, "b", 0, 10)) == 1


async def test_of_what_is_forgotten_the_id_and_the_starts_of_replicas_are_known(kept: Kept) -> None:
    database, store = kept
    await keep(kept, job("a"), job("b"))
    async with database.change(job_lock("a")) as change:
        await store.put_tasks(change, [task("a", 0), task("a", 1), task("b", 0)])
        await store.remove(change, ["a"])
    assert await store.spent(database.newest, ["a", "b", "c"]) == {"a", "b"}
    later = datetime.now(UTC) + HOUR
    assert list(await store.leftovers(database.newest, later - 2 * HOUR, 10)) == []
    one, other = await store.leftovers(database.newest, later, 10)
    assert {one, other} == {task("a", 0).key, task("a", 1).key}
    assert len(await store.leftovers(database.newest, later, 1)) == 1
    async with database.change() as change:
        await store.clear(change, [one, task("b", 0).key])
    assert list(await store.leftovers(database.newest, later, 10)) == [other]
    assert await store.spent(database.newest, ["a"]) == {"a"}


async def test_owners_are_told_apart_by_since_when_they_are_there(kept: Kept) -> None:
    database, store = kept
    await keep(
        kept,
        job("a"),
        job("b"),
        replace(job("c"), owner_since=NOW + HOUR),
        job("d", owner="bob"),
        replace(job("e", owner="pipeline"), owner_since=None),
    )
    first, next_, bob = Owner("alice", NOW), Owner("alice", NOW + HOUR), Owner("bob", NOW)
    found = await store.owners(database.newest)
    assert len(found) == 3
    assert set(found) == {first, next_, bob}
    assert [each.id for each in await store.owned(database.newest, first, "", 100)] == ["a", "b"]
    assert [each.id for each in await store.owned(database.newest, first, "a", 1)] == ["b"]
    assert [each.id for each in await store.owned(database.newest, next_, "", 100)] == ["c"]
