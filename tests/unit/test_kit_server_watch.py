"""Watches: each change exactly once and in order, whatever happens in between."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paddleflow.problems import (
    DatabaseUnavailable,
    Problem,
    ResumeTokenExpired,
    ResumeTokenInvalid,
    ShuttingDown,
    TokenRevoked,
    WatchTooSlow,
)
from pf_kit import tail
from pf_kit.call import CURRENT, Call
from pf_kit.clock import SystemClock
from pf_kit.events import BEGINNING, LARGEST, Cursor, Event, Fact, Moment
from pf_kit.memory import MemoryDatabase, tables
from pf_kit.principal import ANONYMOUS, Principal
from pf_kit.resume import Place, parse_resume_token, resume_token
from pf_kit.unit import View
from pf_kit.watch import PAGE, Watches, WatchPage

Change = tuple[str, int]


@dataclass
class Store:
    """Numbers by name, and watches of them."""

    bookmark_seconds: float = 5.0
    kept: int = 1000
    kept_bytes: int = 1_000_000
    revoked: bool = False
    database: MemoryDatabase = field(init=False)
    watches: Watches = field(init=False)

    def __post_init__(self) -> None:
        self.database = MemoryDatabase(encode=_encode, clock=SystemClock())
        self.restart()

    def restart(self) -> None:
        self.watches = Watches(
            self.database,
            self._recheck,
            SystemClock(),
            bookmark_seconds=self.bookmark_seconds,
            kept=self.kept,
            kept_bytes=self.kept_bytes,
        )

    async def put(self, name: str, number: int) -> None:
        async with self.database.change("store") as change:
            tables(change).table("numbers")[name] = number
            change.emit((name, number))

    def watch(self, token: str = "") -> AsyncIterator[WatchPage[Change]]:
        CURRENT.set(Call("/s/Watch", ANONYMOUS, "", "", 0.0))
        return self.watches.watch(token, existing=_existing, changes=_changes)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Store]:
        task = asyncio.create_task(self.watches.run())
        yield self
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def _recheck(self, _: Principal) -> None:
        if self.revoked:
            raise TokenRevoked


def _encode(event: object) -> Fact:
    return Fact("Number", "number", 1, repr(event).encode())


async def _existing(view: View) -> Sequence[Change]:
    await asyncio.sleep(0)
    return list(tables(view).table("numbers").items())


async def _changes(event: Event) -> Sequence[Change]:
    name, _, number = event.fact.payload.decode().strip("()").partition(", ")
    return [] if name.startswith("'hidden") else [(name.strip("'"), int(number))]


async def take(pages: AsyncIterator[WatchPage[Change]], count: int) -> list[WatchPage[Change]]:
    async with asyncio.timeout(5):
        return [await anext(pages) for _ in range(count)]


async def seen_by(pages: AsyncIterator[WatchPage[Change]], count: int) -> list[Change]:
    seen: list[Change] = []
    while len(seen) < count:
        seen += (await take(pages, 1))[0].messages
    return seen


async def ending(pages: AsyncIterator[WatchPage[Change]]) -> Problem:
    """The problem that ends a watch."""
    async with asyncio.timeout(5):
        try:
            async for _ in pages:
                continue
        except Problem as problem:
            return problem
    raise AssertionError("the watch ended without a problem")


async def test_what_exists_comes_first_then_every_change() -> None:
    async with Store().running() as store:
        await store.put("a", 1)
        pages = store.watch()
        (first,) = await take(pages, 1)
        assert (first.messages, first.bookmark) == ([("a", 1)], True)
        await store.put("a", 2)
        await store.put("b", 3)
        assert await seen_by(pages, 2) == [("a", 2), ("b", 3)]


async def test_an_empty_store_has_its_bookmark_too() -> None:
    async with Store().running() as store:
        (first,) = await take(store.watch(), 1)
        assert (list(first.messages), first.bookmark) == ([], True)
        assert first.resume_token


async def test_only_the_last_page_of_what_exists_can_be_resumed_from() -> None:
    async with Store().running() as store:
        for number in range(2 * PAGE + 1):
            await store.put(f"n{number}", number)
        pages = await take(store.watch(), 3)
        assert [len(page.messages) for page in pages] == [PAGE, PAGE, 1]
        assert [page.bookmark for page in pages] == [False, False, True]
        assert [bool(page.resume_token) for page in pages] == [False, False, True]


async def test_bookmarks_come_while_nothing_happens_and_move_the_token() -> None:
    async with Store(bookmark_seconds=0.05).running() as store:
        pages = store.watch()
        first, second = await take(pages, 2)
        assert second.bookmark
        await store.put("hidden", 1)
        (third,) = await take(pages, 1)
        while third.resume_token == second.resume_token:
            (third,) = await take(pages, 1)
        assert (list(third.messages), third.bookmark) == ([], True)
        assert first.resume_token != third.resume_token


async def test_a_resumed_watch_tells_when_it_has_caught_up() -> None:
    async with Store().running() as store:
        (first,) = await take(store.watch(), 1)
        (again,) = await take(store.watch(first.resume_token), 1)
        assert (list(again.messages), again.bookmark) == ([], True)


@pytest.mark.parametrize("token", ["x", "é", "a" * 3000, "YWJj", "YS9iL2M", "YS8xLTEvMTox"])
async def test_what_is_no_token_is_refused(token: str) -> None:
    async with Store().running() as store:
        assert type(await ending(store.watch(token))) is ResumeTokenInvalid


@pytest.mark.parametrize("foreign", ["*", "****", "\n", " ", "=", "===="])
def test_a_token_with_foreign_characters_is_refused(foreign: str) -> None:
    token = resume_token("epoch", Place(Cursor(3, 4), None))
    for place in (0, len(token) // 2, len(token)):
        with pytest.raises(ResumeTokenInvalid):
            parse_resume_token("epoch", token[:place] + foreign + token[place:])


@given(st.text())
def test_any_text_is_a_token_or_is_refused(text: str) -> None:
    with suppress(ResumeTokenInvalid, ResumeTokenExpired):
        parse_resume_token("epoch", text)


@given(
    st.builds(Cursor, st.integers(0, LARGEST), st.integers(0, LARGEST)),
    st.none() | st.builds(Moment, st.integers(0, 2**63), st.integers(0, 2**63), st.frozensets(st.integers(0, 2**63))),
)
def test_a_token_gives_its_place_back(cursor: Cursor, moment: Moment | None) -> None:
    place = Place(cursor, moment)
    assert parse_resume_token("epoch", resume_token("epoch", place)) == place


async def test_a_token_of_another_epoch_is_expired() -> None:
    async with Store().running() as before, Store().running() as after:
        (page,) = await take(before.watch(), 1)
        assert type(await ending(after.watch(page.resume_token))) is ResumeTokenExpired


async def test_a_token_from_changes_that_the_database_lost_is_expired() -> None:
    async with Store().running() as store:
        await store.put("a", 1)
        token = resume_token(store.database.log.epoch, Place(Cursor(900, 900), None))
        assert type(await ending(store.watch(token))) is ResumeTokenExpired


async def test_a_token_whose_events_are_gone_is_expired() -> None:
    store = Store()
    token = resume_token(store.database.log.epoch, Place(BEGINNING, None))
    for number in range(5):
        await store.put("a", number)
    store.database.log.trim(Cursor(3, 3))
    async with store.running():
        assert type(await ending(store.watch(token))) is ResumeTokenExpired


async def test_a_watcher_that_reads_too_slowly_is_ended_and_can_resume(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "READ", 5)
    async with Store(kept=10).running() as store:
        pages = store.watch()
        await take(pages, 1)
        await store.put("a", 0)
        (last,) = await take(pages, 1)
        for number in range(1, 100):
            await store.put("a", number)
        # A second watcher has read all of it, so that the tail has too.
        await seen_by(store.watch(last.resume_token), 99)
        assert type(await ending(pages)) is WatchTooSlow
        again = await seen_by(store.watch(last.resume_token), 99)
        assert again == [("a", number) for number in range(1, 100)]


async def test_a_tail_keeps_few_events_if_they_are_long() -> None:
    async with Store(kept_bytes=20_000).running() as store:
        pages, quick = store.watch(), store.watch()
        for each in (pages, quick):
            await take(each, 1)
        await store.put("a", 0)
        for each in (pages, quick):
            await seen_by(each, 1)
        for number in range(20):
            await store.put(f"{number:05000}", number)
            await seen_by(quick, 1)
        assert type(await ending(pages)) is WatchTooSlow
        # Long events make way for short ones, and are forgotten when they do.
        for number in range(100):
            await store.put("a", number)
            await seen_by(quick, 1)
        late = store.watch()
        await take(late, 1)
        await store.put("a", 100)
        assert await seen_by(late, 1) == await seen_by(quick, 1) == [("a", 100)]


async def test_a_server_that_stops_ends_its_watches() -> None:
    async with Store().running() as store:
        pages = store.watch()
        await take(pages, 1)
        end = asyncio.create_task(ending(pages))
        # Until the watch waits for news.
        await asyncio.sleep(0)
        store.watches.close()
        assert type(await end) is ShuttingDown
        assert type(await ending(store.watch())) is ShuttingDown


async def test_a_caller_that_may_not_go_on_is_ended() -> None:
    async with Store(bookmark_seconds=0.02).running() as store:
        pages = store.watch()
        await take(pages, 2)
        store.revoked = True
        assert type(await ending(pages)) is TokenRevoked


async def test_nothing_is_told_to_a_caller_that_may_not_go_on() -> None:
    """Not even before the next bookmark, nor of what exists already."""
    async with Store(bookmark_seconds=3600).running() as store:
        for number in range(2 * PAGE):
            await store.put(f"n{number}", number)
        begun, followed = store.watch(), store.watch()
        await take(begun, 1)
        (*_, last) = await take(followed, 2)
        store.revoked = True
        await store.put("a", 1)
        for pages in (begun, followed, store.watch(last.resume_token)):
            with pytest.raises(TokenRevoked):
                await take(pages, 1)


async def test_a_busy_watch_is_checked_as_well() -> None:
    async with Store(bookmark_seconds=0.02).running() as store:
        pages = store.watch()
        await take(pages, 1)
        store.revoked = True

        async def write() -> None:
            for number in range(10_000):
                await store.put("a", number)
                await asyncio.sleep(0.001)

        writing = asyncio.create_task(write())
        assert type(await ending(pages)) is TokenRevoked
        writing.cancel()


async def test_before_the_log_was_read_a_watch_is_told_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "START", 0.01)
    assert type(await ending(Store().watch())) is DatabaseUnavailable


async def test_a_database_that_fails_for_a_while_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "RETRY", 0.01)
    store = Store()
    read, failures = store.database.log.events_after, [3]

    async def failing(cursor: Cursor, limit: int) -> Sequence[Event]:
        failures[0] -= 1
        if failures[0] >= 0:
            raise DatabaseUnavailable
        return await read(cursor, limit)

    monkeypatch.setattr(store.database.log, "events_after", failing)
    async with store.running():
        pages = store.watch()
        await take(pages, 1)
        await store.put("a", 1)
        assert (await take(pages, 1))[0].messages == [("a", 1)]


async def test_events_that_are_removed_unread_end_the_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    async with store.running():
        pages = store.watch()
        await take(pages, 1)
        read = store.database.log.events_after
        lost = [True]

        async def losing(cursor: Cursor, limit: int) -> Sequence[Event]:
            if lost.pop() if lost else False:
                raise ResumeTokenExpired
            return await read(cursor, limit)

        monkeypatch.setattr(store.database.log, "events_after", losing)
        await store.put("a", 1)
        assert type(await ending(pages)) is ResumeTokenExpired
        assert (await take(store.watch(), 1))[0].messages == [("a", 1)]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(2, 30))
def test_snapshot_and_stream_together_are_the_truth(seed: int, writes: int, kept: int) -> None:
    """Whatever is interleaved: writers, breaks of the watch, restarts of the server."""
    asyncio.run(_compare_with_the_truth(random.Random(seed), writes, kept))


async def _compare_with_the_truth(chance: random.Random, writes: int, kept: int) -> None:
    store, truth, seen = Store(kept=kept), dict[str, list[int]](), dict[str, list[int]]()

    async def write(name: str) -> None:
        for number in range(writes):
            await store.put(name, number)
            truth.setdefault(name, []).append(number)
            await asyncio.sleep(chance.choice([0, 0, 0.001]))

    async def follow() -> None:
        token = ""
        while not _complete(seen, writes):
            async with store.running():
                token = await _some_pages(store, token, seen, chance.randint(1, 6))
            if chance.random() < 0.3:
                store.restart()

    async with asyncio.timeout(20):
        await asyncio.gather(follow(), *(write(name) for name in "abc"))
    for name, numbers in seen.items():
        # What was there at the beginning counts as one; after it nothing is missing, doubled or out of order.
        assert numbers == truth[name][numbers[0] :]


async def _some_pages(store: Store, token: str, seen: dict[str, list[int]], count: int) -> str:
    pages = store.watch(token)
    with suppress(WatchTooSlow, TimeoutError):
        async with asyncio.timeout(0.05):
            for _ in range(count):
                page = await anext(pages)
                for name, number in page.messages:
                    seen.setdefault(name, []).append(number)
                token = page.resume_token
    return token


def _complete(seen: dict[str, list[int]], writes: int) -> bool:
    return len(seen) == 3 and all(numbers[-1] == writes - 1 for numbers in seen.values())
