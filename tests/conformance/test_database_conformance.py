"""What every database promises, asked of each."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from paddleflow.problems import Conflict, RequestIdReused, ResumeTokenExpired
from pf_kit.events import BEGINNING, Cursor, Event, Moment
from pf_kit.unit import AuditEntry, AuditFilter, Change, Once
from support.databases import fresh_database
from support.probe import Probe, Stored, memory_probe, postgres_probe


@pytest.fixture(params=["memory", "postgres"])
async def probe(request: pytest.FixtureRequest) -> AsyncIterator[Probe]:
    if request.param == "memory":
        yield memory_probe()
    else:
        server = request.getfixturevalue("postgres_server")
        async with fresh_database(server) as dsn, postgres_probe(dsn) as opened:
            yield opened


ENTRY = AuditEntry("user/alice", "", "/m", "item/a", "peer", "id")
ONCE = Once("user/alice", "/m", "id", b"digest")


async def everything(probe: Probe) -> list[Event]:
    """All events, read page by page."""
    found: list[Event] = []
    while page := await probe.database.log.events_after(found[-1].cursor if found else BEGINNING, 7):
        found.extend(page)
    return found


async def test_a_change_shows_all_it_did_at_once(probe: Probe) -> None:
    async with probe.database.change("a") as change:
        await probe.put(change, "a", 1)
        change.emit(Stored("a", 1))
        change.audit(ENTRY)
        change.remember(ONCE, b"reply")
        assert await probe.read(change) == {"a": 1}
        assert await probe.read(probe.database.newest) == {}
        assert await everything(probe) == []
    assert await probe.read(probe.database.newest) == {"a": 1}
    assert [event.fact.subject for event in await everything(probe)] == ["item/a"]
    assert [record.entry for record in await probe.database.audit_records(AuditFilter(), None, 9)] == [ENTRY]
    async with probe.database.change() as change:
        assert await change.replay(ONCE) == b"reply"


@pytest.mark.parametrize("ending", [ValueError, asyncio.CancelledError])
async def test_an_exception_undoes_all(probe: Probe, ending: type[BaseException]) -> None:
    async def fail() -> None:
        async with probe.database.change("a") as change:
            await probe.put(change, "a", 1)
            change.emit(Stored("a", 1))
            change.audit(ENTRY)
            change.remember(ONCE, b"reply")
            raise ending

    with pytest.raises(ending):
        await fail()
    assert await probe.read(probe.database.newest) == {}
    assert await everything(probe) == []
    assert await probe.database.audit_records(AuditFilter(), None, 9) == []
    async with probe.database.change("a") as change:
        assert await change.replay(ONCE) is None


async def test_a_cancelled_change_leaves_all_or_nothing(probe: Probe) -> None:
    chance = random.Random(7)

    async def change(number: int) -> None:
        async with probe.database.change("a") as change:
            await probe.put(change, f"k{number}", number)
            change.emit(Stored(f"k{number}", 1))

    for number in range(30):
        task = asyncio.create_task(change(number))
        await asyncio.sleep(chance.random() * 0.004)
        task.cancel()
        await asyncio.wait([task])
    stored = await probe.read(probe.database.newest)
    assert {f"item/{key}" for key in stored} == {event.fact.subject for event in await everything(probe)}


async def test_changes_of_one_lock_exclude_each_other(probe: Probe) -> None:
    async def add(lock: str) -> None:
        async with probe.database.change(lock, "z" + lock) as change:
            count = (await probe.read(change)).get(lock, 0)
            await asyncio.sleep(0)
            await probe.put(change, lock, count + 1)

    await asyncio.gather(*(add(lock) for lock in "ab" * 20))
    assert await probe.read(probe.database.newest) == {"a": 20, "b": 20}


async def test_locks_in_any_order_never_block_each_other_for_ever(probe: Probe) -> None:
    async def touch(*locks: str) -> None:
        async with probe.database.change(*locks):
            await asyncio.sleep(0.001)

    async with asyncio.timeout(10):
        await asyncio.gather(*(touch(*random.Random(seed).sample("abcd", 3)) for seed in range(40)))


async def test_events_of_a_subject_are_in_the_order_of_its_commits(probe: Probe) -> None:
    async def grow(name: str) -> None:
        async with probe.database.change(name) as change:
            version = (await probe.read(change)).get(name, 0) + 1
            await probe.put(change, name, version)
            change.emit(Stored(name, version))

    await asyncio.gather(*(grow(name) for name in "abc" * 15))
    events = await everything(probe)
    for name in "abc":
        assert [event.fact.version for event in events if event.fact.subject == f"item/{name}"] == list(range(1, 16))
    assert [event.cursor for event in events] == sorted({event.cursor for event in events})


async def test_events_of_a_change_stay_in_the_order_they_were_told(probe: Probe) -> None:
    names = [f"n{number}" for number in range(20)]
    random.Random(3).shuffle(names)
    async with probe.database.change() as change:
        for name in names:
            change.emit(Stored(name, 1))
    assert [event.fact.subject for event in await everything(probe)] == [f"item/{name}" for name in names]
    assert len({event.cursor.xid for event in await everything(probe)}) == 1


async def test_a_follower_misses_nothing_and_sees_nothing_twice(probe: Probe) -> None:
    """Writers of different subjects commit in any order; a reader that goes by numbers alone would skip some."""
    chance = random.Random(11)
    # Few enough that the reader gets a connection, too, while they write.
    writers = asyncio.Semaphore(5)

    async def write(number: int) -> None:
        async with writers, probe.database.change(f"s{number}") as change:
            await probe.put(change, f"s{number}", 1)
            change.emit(Stored(f"s{number}", 1))
            await asyncio.sleep(chance.random() * 0.01)

    seen: list[Event] = []

    async def follow() -> None:
        while len(seen) < 150:
            events = await probe.database.log.events_after(seen[-1].cursor if seen else BEGINNING, 13)
            seen.extend(events)
            if not events:
                await probe.database.log.commits()

    async with asyncio.timeout(10):
        await asyncio.gather(follow(), *(write(number) for number in range(150)))
    assert Counter(event.fact.subject for event in seen) == Counter(f"item/s{number}" for number in range(150))


async def test_a_snapshot_and_the_events_it_lacks_make_the_newest_state(probe: Probe) -> None:
    chance = random.Random(5)
    taken: list[tuple[dict[str, int], Moment]] = []

    async def write(name: str) -> None:
        for _ in range(12):
            async with probe.database.change(name) as change:
                version = (await probe.read(change)).get(name, 0) + 1
                await probe.put(change, name, version)
                change.emit(Stored(name, version))
                await asyncio.sleep(chance.random() * 0.004)

    async def look() -> None:
        for _ in range(15):
            async with probe.database.snapshot() as snapshot:
                state = await probe.read(snapshot)
                await asyncio.sleep(0.002)
                assert await probe.read(snapshot) == state
                taken.append((state, snapshot.moment))

    await asyncio.gather(look(), *(write(name) for name in "abcdefg"))
    final, events = await probe.read(probe.database.newest), await everything(probe)
    for state, moment in taken:
        later = [event for event in events if not Moment.parse(str(moment)).includes(event.cursor)]
        for event in later:
            name = event.fact.subject.removeprefix("item/")
            assert event.fact.version == state.get(name, 0) + 1
            state[name] = event.fact.version
        assert state == final
        assert all(event.cursor.xid >= moment.xmin for event in later)


async def test_a_request_takes_effect_once(probe: Probe) -> None:
    async def create(number: int) -> bytes:
        async with probe.database.change(f"lock-{number % 2}") as change:
            if known := await change.replay(ONCE):
                return known
            await probe.put(change, f"made-by-{number}", 1)
            change.remember(ONCE, b"%d" % number)
        return b"%d" % number

    async def insist(number: int) -> bytes:
        while True:
            try:
                return await create(number)
            except Conflict:
                await asyncio.sleep(0.001)

    replies = await asyncio.gather(*(insist(number) for number in range(12)))
    assert len(set(replies)) == 1
    assert await probe.read(probe.database.newest) == {f"made-by-{replies[0].decode()}": 1}


async def test_a_request_id_belongs_to_one_request_of_one_caller_and_method(probe: Probe) -> None:
    async with probe.database.change() as change:
        change.remember(ONCE, b"reply")
    async with probe.database.change() as change:
        assert await change.replay(Once("user/bob", "/m", "id", b"other")) is None
        assert await change.replay(Once("user/alice", "/n", "id", b"other")) is None
        assert await change.replay(Once("user/alice", "/m", "no", b"other")) is None
        with pytest.raises(RequestIdReused):
            await change.replay(Once("user/alice", "/m", "id", b"other"))


async def test_an_empty_reply_is_a_reply(probe: Probe) -> None:
    async with probe.database.change() as change:
        change.remember(ONCE, b"")
    async with probe.database.change() as change:
        assert await change.replay(ONCE) == b""


async def emit(probe: Probe, count: int) -> list[Event]:
    for number in range(count):
        async with probe.database.change("a") as change:
            change.emit(Stored("a", number + 1))
    return await everything(probe)


async def test_head_and_floor_enclose_what_is_kept(probe: Probe) -> None:
    log = probe.database.log
    assert await log.head() == await log.floor() == BEGINNING
    events = await emit(probe, 5)
    assert (await log.floor(), await log.head()) == (BEGINNING, events[-1].cursor)
    await probe.trim(events[2].cursor)
    assert (await log.floor(), await log.head()) == (events[2].cursor, events[-1].cursor)
    await probe.trim(events[-1].cursor)
    assert await log.floor() == await log.head() == events[-1].cursor
    (newer,) = await emit_after(probe, events[-1].cursor)
    assert newer.cursor > events[-1].cursor


async def emit_after(probe: Probe, place: Cursor) -> list[Event]:
    async with probe.database.change("a") as change:
        change.emit(Stored("a", 99))
    return list(await probe.database.log.events_after(place, 10))


async def test_who_is_behind_what_is_kept_is_told(probe: Probe) -> None:
    events = await emit(probe, 5)
    await probe.trim(events[2].cursor)
    log = probe.database.log
    assert await log.events_after(events[2].cursor, 10) == events[3:]
    for place in (BEGINNING, events[1].cursor):
        with pytest.raises(ResumeTokenExpired):
            await log.events_after(place, 10)


async def test_a_place_that_no_event_has_reached_is_of_another_story(probe: Probe) -> None:
    """A database that lost its newest changes would otherwise let who has seen them wait in silence."""
    (event,) = await emit(probe, 1)
    with pytest.raises(ResumeTokenExpired):
        await probe.database.log.events_after(Cursor(event.cursor.xid + 1000, 0), 10)


async def test_the_newest_place_is_not_beyond_itself(probe: Probe) -> None:
    (event,) = await emit(probe, 1)
    assert await probe.database.log.events_after(event.cursor, 10) == []
    assert await probe.database.log.events_after(await probe.database.log.head(), 10) == []


async def test_the_time_of_a_change_is_not_before_that_of_one_it_waited_for(probe: Probe) -> None:
    times: list[datetime] = []

    async def touch() -> None:
        async with probe.database.change("a") as change:
            change.emit(Stored("a", 1))
            times.append(change.time)
            await asyncio.sleep(0.002)

    await asyncio.gather(*(touch() for _ in range(10)))
    assert times == sorted(times)
    assert [event.create_time for event in await everything(probe)] == times


async def test_commits_wake_their_own_process_at_once(probe: Probe) -> None:
    """Who only looks once a second for what others commit needs three seconds or more for five."""
    log = probe.database.log
    found: asyncio.Queue[Event] = asyncio.Queue()

    async def follow() -> None:
        place = BEGINNING
        while True:
            for event in await log.events_after(place, 10):
                place = event.cursor
                found.put_nowait(event)
            await log.commits()

    async with asyncio.timeout(2.5), asyncio.TaskGroup() as group:
        follower = group.create_task(follow())
        for _ in range(5):
            newest = (await emit(probe, 1))[-1]
            assert await found.get() == newest
        follower.cancel()


async def test_a_commit_between_the_look_and_the_wait_is_heard(probe: Probe) -> None:
    log = probe.database.log
    read = await log.events_after(BEGINNING, 10)
    # Whoever looks what others have committed, once a second, would need four seconds or more.
    async with asyncio.timeout(2.5):
        for number in range(5):
            async with probe.database.change("a") as change:
                change.emit(Stored("a", number))
            assert await log.commits()
            read = await log.events_after(read[-1].cursor if read else BEGINNING, 10)


async def test_without_a_commit_the_wait_ends_when_its_time_is_over(probe: Probe) -> None:
    log = probe.database.log
    await log.events_after(BEGINNING, 10)
    async with asyncio.timeout(10):
        # Before the first look nobody knows what others have done.
        heard = [await log.commits(0.6) for _ in range(3)]
    assert not heard[-1]


async def test_audit_records_are_filtered_and_paged(probe: Probe) -> None:
    async def record(actor: str, subject: str) -> None:
        async with probe.database.change() as change:
            change.audit(AuditEntry(actor, "", "/m", subject, "", ""))

    for actor, subject in [("user/a", "queue/x"), ("user/b", "queue/x"), ("user/a", "queue/y"), ("user/a", "queue/x")]:
        await record(actor, subject)
    listed = await probe.database.audit_records(AuditFilter(), None, 10)
    numbers = [record.id for record in listed]
    assert numbers == sorted(numbers, reverse=True)
    assert len(listed) == 4
    first = await probe.database.audit_records(AuditFilter(), None, 3)
    assert list(first) + list(await probe.database.audit_records(AuditFilter(), first[-1].id, 3)) == list(listed)
    assert await chosen(probe, AuditFilter(actor="user/a")) == ["queue/x", "queue/y", "queue/x"]
    assert await chosen(probe, AuditFilter(subject="queue/y")) == ["queue/y"]
    assert await chosen(probe, AuditFilter(actor="user/b", subject="queue/y")) == []
    assert await chosen(probe, AuditFilter(since=listed[1].create_time)) == ["queue/x", "queue/y"]


async def chosen(probe: Probe, asked: AuditFilter) -> list[str]:
    return [record.entry.subject for record in await probe.database.audit_records(asked, None, 10)]


async def test_a_change_knows_its_time(probe: Probe) -> None:
    async with probe.database.change() as change:
        change.emit(Stored("a", 1))
        change.audit(ENTRY)
        time = change.time
    assert abs(time - datetime.now(UTC)) < timedelta(minutes=1)
    assert (await everything(probe))[0].create_time == time
    assert (await probe.database.audit_records(AuditFilter(), None, 1))[0].create_time == time


async def test_changes_without_a_lock_run_too(probe: Probe) -> None:
    async def one(change: Change, number: int) -> None:
        await probe.put(change, f"k{number}", number)

    async def run(number: int) -> None:
        async with probe.database.change() as change:
            await one(change, number)

    await asyncio.gather(*(run(number) for number in range(30)))
    assert len(await probe.read(probe.database.newest)) == 30
