"""What every store of workloads promises, asked of each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from paddleflow.problems import Conflict
from pf_kit.unit import Change, Database
from pf_queue.admission.core.workloads import Why
from pf_queue.admission.domain import (
    Decided,
    DecisionKind,
    Effects,
    Key,
    Outcome,
    Record,
    Replicas,
    RoleRequest,
    Spec,
    WorkloadState,
)
from pf_queue.admission.store import DecisionFilter, Over, OverFilter, OverPlace, StoredDecision
from pf_queue.admission.times import micros
from pf_queue.clusters.domain import Cluster, ClusterType
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.parts import Stores
from pf_queue.resources import LARGEST, Resources
from support.stores import KINDS, opened
from support.trees import CLUSTER, queue

NOON = datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
ROLES = (
    RoleRequest("driver", 1, 1, 1, Resources({"cpu": 500})),
    RoleRequest("worker", 0, 1_000_000, 8, Resources({"nvidia.com/gpu": LARGEST, "memory": 2**53 + 1, "cpu": 0})),
)
GANG = (Replicas("driver", 1, 0), Replicas("worker", 0, 1_000_000))
FULL = Record(
    spec=Spec(
        key=Key("a.Job_1-x", 1_000_000),
        queue="one",
        user="ann",
        priority=-1_000_000,
        roles=ROLES,
        grace=1,
        min_run=365 * 24 * 3600 * 1_000_000,
    ),
    state=WorkloadState.EVICTING,
    number=2**53 + 1,
    submitted=micros(NOON),
    not_before=2,
    requeues=3,
    cluster=CLUSTER,
    grant="a.Job_1-x/1000000",
    grant_version=4,
    admission=5,
    since=6,
    start_by=7,
    running=0,
    surplus=(0, 16),
    shrinking=(0, 8),
    leave_by=8,
    leaves_for="other/1",
    kept_until=9,
    starving=True,
    version=10,
)


def record(job: str = "job", attempt: int = 1, **fields: Any) -> Record:
    spec = Spec(key=Key(job, attempt), queue=fields.pop("queue", "one"), user="ann", roles=ROLES[:1])
    return Record(spec=spec, **{"number": 1, "submitted": 1} | fields)


def ended(given: Record, outcome: Outcome = Outcome.FINISHED) -> Record:
    return replace(given, state=WorkloadState.RELEASED, outcome=outcome)


def decided(job: str = "job", attempt: int = 1, **fields: Any) -> Decided:
    given: dict[str, Any] = {"time": micros(NOON), "queue": "one", "kind": DecisionKind.ADMIT} | fields
    return Decided(key=Key(job, attempt), **given)


@dataclass(frozen=True)
class Kept:
    database: Database
    stores: Stores

    async def write(self, *changed: Record, added: Sequence[Record] = (), **more: Any) -> None:
        records = {each.id: each for each in (*changed, *added)}
        effects = Effects(changed=records, added={each.id for each in added}, **more)
        async with self.database.change() as change:
            await self.stores.workloads.write(change, effects)

    async def unfinished(self) -> list[Record]:
        found = await self.stores.workloads.unfinished(self.database.newest)
        return sorted(found, key=lambda each: each.id)

    async def over(self, *ids: str) -> list[Record]:
        found = await self.stores.workloads.over(self.database.newest, ids)
        return sorted(found, key=lambda each: each.id)

    async def last_over(self, job: str, attempt: int = 0) -> Record | None:
        return await self.stores.workloads.last_over(self.database.newest, Key(job, attempt))

    async def over_in_queue(
        self, chosen: OverFilter, after: OverPlace | None = None, limit: int = 100
    ) -> Sequence[Over]:
        return await self.stores.workloads.over_in_queue(self.database.newest, chosen, after, limit)

    async def used(self, *queues: str) -> Mapping[str, Mapping[str, int]]:
        found = await self.stores.workloads.used(self.database.newest, queues)
        return {name: dict(used) for name, used in found.items()}

    async def in_queue(self, name: str) -> bool:
        return await self.stores.workloads.in_queue(self.database.newest, name)

    async def decisions(
        self, chosen: DecisionFilter | None = None, before: int | None = None, limit: int = 100
    ) -> Sequence[StoredDecision]:
        return await self.stores.workloads.decisions(self.database.newest, chosen or DecisionFilter(), before, limit)

    async def jobs(self, **chosen: Any) -> list[str]:
        return [stored.decided.key.job for stored in await self.decisions(DecisionFilter(**chosen))]

    async def tree(self) -> tuple[int, ...]:
        return await self.stores.workloads.tree(self.database.newest)


@pytest.fixture(params=KINDS)
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    async with opened(request) as (database, stores):
        async with database.change(TREE_LOCK) as change:
            cluster = Cluster(name=CLUSTER, type=ClusterType.LOCAL, create_time=NOON, update_time=NOON)
            await stores.clusters.add(change, cluster)
            for name in ("one", "two"):
                await stores.queues.add(change, queue(name))
        yield Kept(database, stores)


async def test_every_field_is_kept(kept: Kept) -> None:
    await kept.write(added=[FULL])
    assert await kept.unfinished() == [FULL]
    await kept.write(ended(FULL, Outcome.NOT_STARTED))
    assert await kept.over(FULL.id) == [ended(FULL, Outcome.NOT_STARTED)]


LIVE = [each for each in WorkloadState if each not in (WorkloadState.RELEASED, WorkloadState.SET_ASIDE)]


@pytest.mark.parametrize("state", LIVE)
async def test_every_state_is_kept(kept: Kept, state: WorkloadState) -> None:
    given = record(state=state, grant="job/1", surplus=(0,), shrinking=(0,))
    await kept.write(added=[given])
    assert await kept.unfinished() == [given]


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_every_outcome_is_kept(kept: Kept, outcome: Outcome) -> None:
    await kept.write(added=[record()])
    await kept.write(ended(record(), outcome))
    assert await kept.over("job/1") == [ended(record(), outcome)]


async def test_a_change_replaces_where_it_stands(kept: Kept) -> None:
    await kept.write(added=[record(), record("other")])
    holds: dict[str, Any] = {"surplus": (0,), "shrinking": (0,), "grant": "job/1"}
    changed = record(state=WorkloadState.ADMITTED, running=7, version=2, **holds)
    await kept.write(changed)
    assert await kept.unfinished() == [changed, record("other")]


async def test_what_ends_and_what_comes_of_it_is_one_change(kept: Kept) -> None:
    await kept.write(added=[record()])
    await kept.write(ended(record(), Outcome.EVICTED), added=[record(attempt=2), record("new")])
    assert [each.id for each in await kept.unfinished()] == ["job/2", "new/1"]
    assert [each.id for each in await kept.over("job/1", "job/2", "none/1")] == ["job/1"]


async def test_what_comes_and_ends_in_one_change_is_over(kept: Kept) -> None:
    await kept.write(added=[ended(record())])
    assert await kept.unfinished() == []
    assert await kept.over("job/1") == [ended(record())]


async def test_a_number_of_an_attempt_that_is_used_again_has_the_last_end(kept: Kept) -> None:
    for outcome in (Outcome.FINISHED, Outcome.CANCELLED):
        await kept.write(added=[record()])
        await kept.write(ended(record(), outcome))
    assert await kept.over("job/1") == [ended(record(), Outcome.CANCELLED)]


async def test_nothing_is_over_that_nobody_asks_for(kept: Kept) -> None:
    await kept.write(added=[ended(record()), ended(record("other"))])
    assert await kept.over() == []
    assert [each.id for each in await kept.over("job/1", "job/1")] in (["job/1"], ["job/1", "job/1"])


async def test_the_last_attempt_is_that_with_the_highest_number(kept: Kept) -> None:
    jobs = ("job", "job.1", "job-1", "job1", "job_", "jo", "Job", "job0")
    await kept.write(added=[ended(record(job, attempt)) for job in jobs for attempt in (2, 9, 10)])
    for job in jobs:
        assert await kept.last_over(job) == ended(record(job, 10))
        assert await kept.last_over(job, 2) == ended(record(job, 2))
        assert await kept.last_over(job, 1) is None
    for missing in ("j", "job%", "jo_", "jobs", ""):
        assert await kept.last_over(missing) is None
    await kept.write(added=[record("live")])
    assert await kept.last_over("live") is None


async def test_a_queue_has_workloads_until_all_are_over(kept: Kept) -> None:
    assert not await kept.in_queue("one")
    await kept.write(added=[record(), record("held", state=WorkloadState.HELD)])
    assert await kept.in_queue("one")
    assert not await kept.in_queue("two")
    await kept.write(ended(record()))
    assert await kept.in_queue("one")
    await kept.write(ended(record("held")))
    assert not await kept.in_queue("one")


HOLDS = {"state": WorkloadState.ADMITTED, "surplus": (2, 8)}


async def test_what_queues_use_is_summed_up_the_tree(kept: Kept) -> None:
    async with kept.database.change(TREE_LOCK) as change:
        await kept.stores.queues.add(change, queue("below", parent="one"))
    assert await kept.used("one", "below", "two", "none") == {}
    big = RoleRequest("worker", 1, 9, 8, Resources({"memory": LARGEST // 9, "cpu": 0, "gpu": 2}))
    for job, name, fields in (
        ("a", "one", HOLDS),
        ("b", "below", HOLDS | {"state": WorkloadState.EVICTING, "surplus": (0, 0)}),
        ("waits", "one", {}),
        ("held", "below", {"state": WorkloadState.HELD}),
        ("over", "two", HOLDS),
    ):
        given = record(job, queue=name, **fields)
        await kept.write(added=[replace(given, spec=replace(given.spec, roles=(ROLES[0], big)))])
    below = {"cpu": 500, "gpu": 2, "memory": LARGEST // 9}
    assert await kept.used("below") == {"below": below}
    one = {"cpu": 2000, "gpu": 20, "memory": 10 * (LARGEST // 9)}
    two = {"cpu": 1500, "gpu": 18, "memory": 9 * (LARGEST // 9)}
    assert await kept.used("one", "below", "two") == {"one": one, "below": below, "two": two}
    await kept.write(ended(record("over", queue="two")))
    assert await kept.used("two") == {}


async def test_those_of_a_queue_that_are_not_over_are_read_alone(kept: Kept) -> None:
    mine, others = [record(f"m{n}") for n in range(3)], [record(f"o{n}", queue="two") for n in range(3)]
    await kept.write(added=[*mine, *others])
    await kept.write(ended(mine[0]))
    found = await kept.stores.workloads.unfinished_in(kept.database.newest, "one")
    assert sorted(found, key=lambda each: each.id) == mine[1:]


async def test_those_of_a_queue_that_are_over_come_in_pages_newest_first(kept: Kept) -> None:
    for number in range(6):
        user = "bob" if number == 2 else "ann"
        given = record(f"j{number}", queue="two" if number == 3 else "one")
        spec = replace(given.spec, user=user)
        await kept.write(added=[replace(given, spec=spec)])
        await kept.write(ended(replace(given, spec=spec)))
    found: list[Over] = []
    while page := await kept.over_in_queue(OverFilter("one"), found[-1].place if found else None, limit=2):
        assert len(page) <= 2
        found += page
    assert [over.record.spec.key.job for over in found] == ["j5", "j4", "j2", "j1", "j0"]
    assert [over.record.state for over in found] == [WorkloadState.RELEASED] * 5
    assert [over.record.id for over in await kept.over_in_queue(OverFilter("one", "bob"))] == ["j2/1"]
    assert list(await kept.over_in_queue(OverFilter("one", since=found[1].ended))) == found[:2]
    assert list(await kept.over_in_queue(OverFilter("none"))) == []


async def test_of_two_that_ended_at_once_none_is_passed_over(kept: Kept) -> None:
    both = [record("a"), record("b")]
    await kept.write(added=both)
    await kept.write(*map(ended, both))
    (first,) = await kept.over_in_queue(OverFilter("one"), limit=1)
    (second,) = await kept.over_in_queue(OverFilter("one"), first.place, limit=1)
    assert [first.record.id, second.record.id] == ["b/1", "a/1"]
    assert not await kept.over_in_queue(OverFilter("one"), second.place)


async def test_every_field_of_a_decision_is_kept(kept: Kept) -> None:
    given = [
        decided(attempt=7, kind=DecisionKind.EVICT, replicas=GANG, why=Why.RECLAIM, beneficiary="other/1"),
        *(decided(kind=kind) for kind in DecisionKind),
        *(decided(kind=DecisionKind.EVICT, why=why) for why in Why),
    ]
    await kept.write(decided=given)
    found = await kept.decisions()
    assert [stored.decided for stored in reversed(found)] == given
    ids = [stored.id for stored in found]
    assert ids == sorted(set(ids), reverse=True)


async def test_filters_of_decisions_must_all_match(kept: Kept) -> None:
    later = NOON + timedelta(microseconds=1)
    await kept.write(
        decided=[
            decided("a", kind=DecisionKind.ADMIT),
            decided("a-1", queue="two", kind=DecisionKind.GROW),
            decided("b", queue="two", kind=DecisionKind.EVICT, time=micros(later)),
            decided("a", 2, kind=DecisionKind.REQUEUE, time=micros(later)),
        ]
    )
    assert await kept.jobs() == ["a", "b", "a-1", "a"]
    assert await kept.jobs(queues=frozenset({"two"})) == ["b", "a-1"]
    assert await kept.jobs(queues=frozenset({"two", "one", "none"})) == ["a", "b", "a-1", "a"]
    assert await kept.jobs(queues=frozenset()) == []
    assert await kept.jobs(job="a") == ["a", "a"]
    assert await kept.jobs(job="a", attempt=2) == ["a"]
    assert await kept.jobs(job="a", attempt=3) == []
    assert await kept.jobs(job="%") == []
    assert await kept.jobs(kinds=frozenset({DecisionKind.GROW, DecisionKind.EVICT})) == ["b", "a-1"]
    assert await kept.jobs(since=later) == ["a", "b"]
    assert await kept.jobs(since=later + timedelta(microseconds=1)) == []
    assert await kept.jobs(queues=frozenset({"one"}), job="a", since=later) == ["a"]


async def test_decisions_come_in_pages_newest_first(kept: Kept) -> None:
    await kept.write(decided=[decided(f"j{number}", queue="one" if number % 2 else "two") for number in range(10)])
    found: list[StoredDecision] = []
    chosen = DecisionFilter(queues=frozenset({"one"}))
    while page := await kept.decisions(chosen, found[-1].id if found else None, limit=2):
        assert len(page) <= 2
        found += page
    assert [stored.decided.key.job for stored in found] == ["j9", "j7", "j5", "j3", "j1"]


async def test_the_tree_changes_with_every_queue_and_cluster(kept: Kept) -> None:
    clusters, queues = kept.stores.clusters, kept.stores.queues
    extra = Cluster(name="extra", type=ClusterType.LOCAL, create_time=NOON, update_time=NOON)
    seen = await kept.tree()
    changes: Sequence[Callable[[Change], Awaitable[object]]] = (
        lambda change: queues.add(change, queue("new")),
        lambda change: queues.set(change, queue("one", weight=5)),
        lambda change: queues.remove(change, "two"),
        lambda change: clusters.add(change, extra),
        lambda change: clusters.set(change, replace(extra, description="new")),
        lambda change: clusters.remove(change, "extra"),
        lambda change: queues.remove(change, "new"),
    )
    for work in changes:
        async with kept.database.change(TREE_LOCK) as change:
            await work(change)
        before, seen = seen, await kept.tree()
        assert seen != before
        await kept.write(decided=[decided()])
        assert await kept.tree() == seen


async def test_nothing_comes_into_a_queue_that_was_deleted(kept: Kept) -> None:
    async with kept.database.change(TREE_LOCK) as change:
        await kept.stores.queues.remove(change, "two")
    with pytest.raises(Conflict, match="try again"):
        await kept.write(ended(record("other")), added=[record(queue="two")], decided=[decided()])
    assert await kept.unfinished() == []
    assert await kept.over("other/1") == []
    assert await kept.decisions() == []


async def test_what_is_asked_for_may_change(kept: Kept) -> None:
    given = record()
    revised = replace(given, spec=replace(given.spec, priority=7, revision=3), version=2)
    await kept.write(added=[given, record("other")])
    await kept.write(revised, revised={revised.id})
    assert await kept.unfinished() == [revised, record("other")]
    await kept.write(replace(revised, running=1))
    await kept.write(ended(revised))
    assert await kept.over("job/1") == [ended(revised)]


async def test_what_is_over_outlives_its_queue(kept: Kept) -> None:
    await kept.write(added=[record(queue="two")])
    await kept.write(ended(record(queue="two")))
    async with kept.database.change(TREE_LOCK) as change:
        await kept.stores.queues.remove(change, "two")
    assert (await kept.last_over("job")) == ended(record(queue="two"))


async def test_what_is_undone_was_never_there(kept: Kept) -> None:
    await kept.write(added=[record()])
    effects = Effects({"job/1": ended(record()), "new/1": record("new")}, {"new/1"}, [], [decided()])

    async def fail_at_last() -> None:
        async with kept.database.change() as change:
            await kept.stores.workloads.write(change, effects)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_at_last()
    assert await kept.unfinished() == [record()]
    assert await kept.over("job/1") == []
    assert await kept.decisions() == []
