"""For how long jobs held what: what every store tells of the same spans."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pf_job.jobs.domain import Owner
from pf_job.jobs.memory import MemoryJobStore
from pf_job.jobs.postgres import PostgresJobStore
from pf_job.jobs.spans import Span, Turns
from pf_job.jobs.store import JobStore
from pf_job.specs.domain import JobSpec
from pf_job.statistics.domain import CardQuery, CardTime, Group, Place, card_times
from pf_job.statistics.memory import MemoryCardTimeStore
from pf_job.statistics.postgres import PostgresCardTimeStore
from pf_job.statistics.store import CardTimeStore
from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Database
from support.databases import fresh_database, migrated

MIGRATIONS = files("pf_job") / "sql" / "migrations"
NOW = datetime(2030, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
SINCE = NOW - 100 * HOUR
GPU = "nvidia.com/gpu"
Kept = tuple[Database, JobStore, CardTimeStore]


def no_events(event: object) -> Fact:
    raise TypeError(event)


def encoded(_: JobSpec) -> bytes:
    return b""


def decoded(_: bytes) -> JobSpec:
    return JobSpec()


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        yield MemoryDatabase(encode=no_events, clock=SystemClock()), MemoryJobStore(), MemoryCardTimeStore()
        return
    async with (
        fresh_database(request.getfixturevalue("postgres_server")) as dsn,
        migrated(dsn, no_events, schema="job", folders=[MIGRATIONS]) as database,
    ):
        yield database, PostgresJobStore(encode=encoded, decode=decoded), PostgresCardTimeStore()


def span(job: str, begin: float, end: float | None, **more: Any) -> Span:
    """A time in which a job held something, in hours from now."""
    known = {
        "job": job,
        "attempt": 1,
        "queue": "q",
        "owner": "ada",
        "owner_since": SINCE,
        "held": {"cpu": 1_000, "memory": 8, GPU: 2},
    }
    finish = None if end is None else NOW + end * HOUR
    times = {"accept_time": NOW - HOUR, "start_time": NOW + begin * HOUR, "finish_time": finish}
    return Span(**{**known, **times, **more})


async def hold(kept: Kept, *spans: Span) -> None:
    database, jobs, _ = kept
    async with database.change() as change:
        for each in spans:
            await jobs.hold(change, {each.job: Turns(None, [each])})


async def told(kept: Kept, group: Group = Group.JOB, **more: Any) -> Sequence[CardTime]:
    database, _, store = kept
    query = CardQuery(**{"group": group, "start": NOW, "end": NOW + 100 * HOUR, **more})
    return await store.card_times(database.newest, query, Place(), 1000)


async def test_a_job_counts_what_it_held_for_as_long_as_it_did(kept: Kept) -> None:
    await hold(kept, span("a", 1, 3))
    (found,) = await told(kept)
    assert found == CardTime(
        place=Place("q", "ada", "a"),
        jobs=1,
        running=0,
        seconds=7_200,
        cards={GPU: 14_400},
        cores=7_200,
        memory=57_600,
        most_cards=2,
        accept_time=NOW - HOUR,
        start_time=NOW + HOUR,
        finish_time=NOW + 3 * HOUR,
    )


async def test_only_the_time_that_is_asked_about_counts(kept: Kept) -> None:
    await hold(kept, span("a", -5, 5), span("before", -5, 0), span("after", 10, 11), span("around", -9, 99))
    found = {each.place.job: each.seconds for each in await told(kept, end=NOW + 10 * HOUR)}
    assert found == {"a": 5 * 3_600, "around": 10 * 3_600}


async def test_what_runs_counts_until_now(kept: Kept) -> None:
    await hold(kept, span("a", 1, None))
    (found,) = await told(kept, end=NOW + 4 * HOUR)
    assert (found.seconds, found.running, found.finish_time) == (3 * 3_600, 1, None)


async def test_attempts_are_summed_exactly(kept: Kept) -> None:
    one, two = span("a", 1, 1.5), span("a", 2, 2.25, attempt=2, held={"cpu": 500, GPU: 3})
    await hold(kept, one, two)
    (found,) = await told(kept)
    assert (found.seconds, found.cores, found.most_cards) == (2_700, 1_800 + 450, 3)
    assert found.cards == {GPU: 2 * 1_800 + 3 * 900}


async def test_times_are_told_by_queue_by_user_and_by_job(kept: Kept) -> None:
    await hold(kept, span("a", 0, 1), span("b", 0, 1, owner="bob"), span("c", 0, 1, owner="bob"))
    await hold(kept, span("d", 0, 1, queue="other", held={"cpu": 1, "baidu.com/xpu": 1}))
    by_queue, by_user, by_job = [await told(kept, group) for group in Group]
    assert [(each.place, each.jobs) for each in by_queue] == [(Place("other"), 1), (Place("q"), 3)]
    assert [each.cards for each in by_queue] == [{"baidu.com/xpu": 3_600}, {GPU: 3 * 7_200}]
    assert [(each.place.user, each.jobs) for each in by_user] == [("ada", 1), ("ada", 1), ("bob", 2)]
    assert [each.place.job for each in by_job] == ["d", "a", "b", "c"]


async def test_only_some_queues_and_users_are_looked_at(kept: Kept) -> None:
    await hold(kept, span("a", 0, 1), span("b", 0, 1, owner="bob"), span("c", 0, 1, queue="other"))
    assert [each.place.job for each in await told(kept, queues=frozenset({"q"}))] == ["a", "b"]
    assert [each.place.job for each in await told(kept, users=frozenset({"ada", "eve"}))] == ["c", "a"]


async def test_everybody_sees_their_own_and_what_is_granted_to_them(kept: Kept) -> None:
    await hold(kept, span("a", 0, 1), span("b", 0, 1, owner="bob"), span("c", 0, 1, queue="x", owner="eve"))
    seen = await told(kept, granted=frozenset({"x"}), viewer=Owner("bob", SINCE))
    assert [each.place.job for each in seen] == ["b", "c"]
    assert [each.place for each in await told(kept, Group.QUEUE, granted=frozenset(), viewer=Owner("bob", SINCE))] == [
        Place("q")
    ]


async def test_who_has_the_name_of_somebody_before_sees_nothing_of_it(kept: Kept) -> None:
    before, now = SINCE, SINCE + HOUR
    await hold(kept, span("a", 0, 1, owner="bob", owner_since=before), span("b", 0, 2, owner="bob", owner_since=now))
    for granted in (frozenset[str](), frozenset({"q"})):
        seen = await told(kept, granted=granted, viewer=Owner("bob", now))
        assert [each.place.job for each in seen] == ["b"]
    (whole,) = await told(kept, Group.QUEUE)
    assert (whole.jobs, whole.seconds) == (2, 3 * HOUR.total_seconds())


async def test_a_span_ends_once_and_not_before_it_began(kept: Kept) -> None:
    database, jobs, _ = kept
    await hold(kept, span("a", 1, None), span("b", 1, None))
    for hours in (3, 5):
        async with database.change() as change:
            await jobs.hold(change, {"a": Turns(NOW + hours * HOUR, []), "b": Turns(NOW, [span("b", 4, None)])})
            await jobs.hold(change, {"b": Turns(NOW + 6 * HOUR, [])})
    found = {each.place.job: each.seconds for each in await told(kept)}
    assert found == {"a": 2 * 3_600, "b": 2 * 2 * 3_600}


async def test_a_time_that_has_not_come_holds_nothing(kept: Kept) -> None:
    await hold(kept, span("a", 1, None), span("b", 1, 9))
    assert await told(kept, start=NOW + 5 * HOUR, end=NOW + 5 * HOUR) == []
    assert await told(kept, start=NOW + 8 * HOUR, end=NOW + 2 * HOUR) == []


async def test_pages_follow_one_another(kept: Kept) -> None:
    database, _, store = kept
    await hold(kept, *(span(f"job-{number}", 0, 1, owner="ada" if number % 2 else "bob") for number in range(7)))
    query = CardQuery(group=Group.JOB, start=NOW, end=NOW + HOUR)
    found: list[CardTime] = []
    after = Place()
    while page := await store.card_times(database.newest, query, after, 2):
        found += page
        after = page[-1].place
    assert found == list(await told(kept, end=NOW + HOUR))
    assert len(found) == 7


HOURS = st.integers(-20, 20)
SPANS = st.lists(
    st.builds(
        lambda job, begin, lasts, queue, owner, cards: span(
            job, begin, None if lasts is None else begin + lasts, queue=queue, owner=owner, held=cards
        ),
        st.sampled_from(["a", "b", "c"]),
        HOURS,
        st.none() | st.integers(0, 20),
        st.sampled_from(["p", "q"]),
        st.sampled_from(["ada", "bob"]),
        st.dictionaries(st.sampled_from(["cpu", "memory", GPU, "x/y"]), st.integers(0, 9)),
    ),
    max_size=12,
)


@given(SPANS, HOURS, st.integers(1, 20), st.integers(1, 19))
def test_two_times_come_to_their_whole_and_groups_to_theirs(
    spans: list[Span], begin: int, first: int, second: int
) -> None:
    times = [NOW + begin * HOUR, NOW + (begin + first) * HOUR, NOW + (begin + first + second) * HOUR]

    def cores(group: Group, start: datetime, end: datetime) -> float:
        return sum(each.cores for each in card_times(spans, CardQuery(group=group, start=start, end=end)))

    whole = cores(Group.QUEUE, times[0], times[2])
    assert cores(Group.QUEUE, *times[:2]) + cores(Group.QUEUE, *times[1:]) == pytest.approx(whole)
    assert cores(Group.USER, times[0], times[2]) == pytest.approx(whole)
    assert cores(Group.JOB, times[0], times[2]) == pytest.approx(whole)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SPANS, st.sampled_from(Group))
async def test_all_stores_tell_what_the_arithmetic_says(kept: Kept, spans: list[Span], group: Group) -> None:
    database, _, store = kept
    tag = f"h{uuid4().hex}"
    mine = [Span(**{**{name: getattr(each, name) for name in Span.__slots__}, "owner": tag}) for each in spans]
    await hold(kept, *mine)
    query = CardQuery(group=group, start=NOW - 5 * HOUR, end=NOW + 9 * HOUR, users=frozenset({tag}))
    found = await store.card_times(database.newest, query, Place(), 1000)
    wanted = card_times(mine, query)
    assert [_rounded(each) for each in found] == [_rounded(each) for each in wanted]
    async with database.change() as change:
        await kept[1].hold(change, {job: Turns(NOW + 99 * HOUR, []) for job in ("a", "b", "c")})


def _rounded(found: CardTime) -> tuple[object, ...]:
    cards = {name: round(amount, 3) for name, amount in found.cards.items() if amount}
    amounts = (round(found.seconds, 3), round(found.cores, 3), round(found.memory, 3))
    return (found.place, found.jobs, found.running, found.most_cards, cards, amounts, found.start_time)
