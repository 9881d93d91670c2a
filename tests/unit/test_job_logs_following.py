"""Which replicas are read, in what order, and when following ends, on a runtime in memory."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.problems import NotFound, ShuttingDown, Unavailable
from pf_job.logs.choosing import chosen
from pf_job.logs.domain import (
    Beginning,
    Bounds,
    Choice,
    Chunk,
    Known,
    Offset,
    Position,
    Query,
    Standing,
    Start,
    TailBytes,
    TailLines,
)
from pf_job.logs.search import Search
from pf_job.logs.service import Logs
from pf_job.runtimes.fake import FakeRuntime, Log
from pf_job.runtimes.port import Ceiling, Launch, LogRange, ReplicaKey
from pf_kit.clock import SystemClock

FIRST = ReplicaKey("job", 1, "worker", 0)
LOGS = st.lists(
    st.sampled_from(
        [b"\n", b"a", b"ab\n", b"x", b"\xff", b"-" * 65_536, b"a" + b"-" * 100_000 + b"b\n", b"line\n" * 20_000]
    ),
    max_size=12,
).map(b"".join)
STARTS: st.SearchStrategy[Start] = st.one_of(
    st.just(Beginning()),
    st.builds(TailLines, st.integers(0, 30)),
    st.builds(TailBytes, st.integers(0, 300_000)),
    st.builds(Offset, st.integers(0, 400_000)),
)
KEYS = st.builds(
    ReplicaKey,
    st.just("job"),
    st.integers(1, 3),
    st.sampled_from(["worker", "master"]),
    st.integers(0, 1),
    st.integers(0, 2),
)


def launch(script: str, key: ReplicaKey = FIRST, log: int | None = None) -> Launch:
    return Launch(key=key, tenant="ada", argv=["sh", "-c", script], env={}, cwd="/", ceiling=Ceiling(log=log))


def standing(*known: Known, attempt: int = 1, over: bool = False) -> Standing:
    return Standing(attempt, over, known)


async def read(
    runtime: FakeRuntime, query: Query, *stands: Standing, closing: asyncio.Event | None = None
) -> tuple[list[Chunk], int]:
    """What is told while a job stands like this, then like that; and how often it was looked."""
    left, looks = list(stands), 0

    async def look() -> Standing:
        nonlocal looks
        looks += 1
        return left.pop(0) if len(left) > 1 else left[0]

    logs = Logs({"here": runtime}, SystemClock(), closing or asyncio.Event())
    async with asyncio.timeout(20), aclosing(logs.read(query, look)) as chunks:
        told = [chunk async for chunk in chunks]
    return told, looks


def query(**fields: object) -> Query:
    return Query(choice=Choice(job="job"), **fields)  # type: ignore[arg-type]


async def test_a_replica_that_is_lost_is_not_followed_for_ever() -> None:
    """The runtime still takes it for one that runs; the record of the job knows better."""
    runtime = FakeRuntime()
    await runtime.start([launch("echo a; sleep 1000")])
    told, looks = await read(runtime, query(follow=True), standing(Known(FIRST, False)), standing(Known(FIRST, True)))
    assert [chunk.data for chunk in told] == [b"a\n", b""]
    assert told[-1].position == Position(FIRST, 2, 1, 2, end=True)
    assert looks >= 2


async def test_a_replica_without_a_log_is_waited_for() -> None:
    runtime = FakeRuntime()
    begun = asyncio.get_running_loop().call_later(0.2, lambda: runtime._begin(launch("echo a")))  # noqa: SLF001
    told, looks = await read(runtime, query(follow=True), standing(), standing(Known(FIRST, False)))
    assert begun.when() <= asyncio.get_running_loop().time()
    assert [chunk.data for chunk in told] == [b"a\n", b""]
    assert looks >= 3


async def test_a_log_that_is_deleted_meanwhile_ends() -> None:
    runtime = FakeRuntime()
    await runtime.start([launch("echo a; sleep 1000")])
    asyncio.get_running_loop().call_later(0.2, runtime._logs.clear)  # noqa: SLF001
    told, _ = await read(runtime, query(follow=True), standing(Known(FIRST, False)))
    assert [chunk.position.end for chunk in told] == [False, True]


async def test_a_runtime_that_is_away_ends_the_stream() -> None:
    class Away(FakeRuntime):
        async def read_log(self, key: ReplicaKey, offset: int, size: int) -> LogRange:
            raise Unavailable("it is away")

    with pytest.raises(Unavailable):
        await read(Away(), query(), standing(Known(FIRST, True)))


async def test_a_line_of_one_of_several_is_not_cut() -> None:
    """Each chunk of several logs is whole lines, but for the last."""
    runtime = FakeRuntime()
    second = ReplicaKey("job", 1, "worker", 1)
    await runtime.start([launch("sleep 1000"), launch("sleep 1000", second)])
    loop, log = asyncio.get_running_loop(), runtime._logs[FIRST]  # noqa: SLF001
    for n, part in enumerate((b"he", b"llo\nyo", b"u")):
        loop.call_later(0.1 * n + 0.1, log.written.extend, part)
    for key in (FIRST, second):
        loop.call_later(0.6, runtime.end, key, 0)
    told, _ = await read(runtime, query(follow=True), standing(Known(FIRST, False), Known(second, False)))
    assert [chunk.data for chunk in told if chunk.data] == [b"hello\n", b"you"]


async def test_what_is_lost_is_told_once() -> None:
    runtime = FakeRuntime()
    await runtime.start([launch("echo 0123456789; echo abc", log=6)])
    await asyncio.sleep(0)
    told, _ = await read(runtime, query(), standing(Known(FIRST, True)))
    assert [(chunk.lost, chunk.offset, chunk.data) for chunk in told] == [(9, 9, b"9\nabc\n"), (0, 15, b"")]
    search = query(search=Search(["nowhere"]), start=TailLines(3))
    told, _ = await read(runtime, search, standing(Known(FIRST, True)))
    assert [(chunk.position.offset, chunk.data) for chunk in told] == [(15, b"")]


async def test_who_has_all_that_was_asked_for_is_told_no_more() -> None:
    runtime = FakeRuntime()
    await runtime.start([launch("echo a; echo b; sleep 1000")])
    told, _ = await read(runtime, query(follow=True, bounds=Bounds(lines=1)), standing(Known(FIRST, False)))
    assert [chunk.data for chunk in told] == [b"a\n"]
    again = query(follow=True, bounds=Bounds(lines=1), positions={FIRST: told[-1].position})
    assert await read(runtime, again, standing(Known(FIRST, False))) == ([], 1)


@pytest.mark.parametrize("begun", [True, False])
async def test_who_follows_is_sent_elsewhere_when_the_server_stops(begun: bool) -> None:
    runtime, closing = FakeRuntime(), asyncio.Event()
    if begun:
        await runtime.start([launch("sleep 1000")])
    loop = asyncio.get_running_loop()
    loop.call_later(0.1, closing.set)
    started = loop.time()
    with pytest.raises(ShuttingDown):
        await read(runtime, query(follow=True), standing(Known(FIRST, False)), closing=closing)
    assert loop.time() - started < 1


async def test_who_reads_much_is_sent_elsewhere_when_the_server_stops() -> None:
    runtime, closing = FakeRuntime(), asyncio.Event()
    await runtime.start([launch("echo a")])
    await asyncio.sleep(0)
    runtime._logs[FIRST].written.extend(b"x" * 2**20)  # noqa: SLF001
    closing.set()
    with pytest.raises(ShuttingDown):
        await read(runtime, query(), standing(Known(FIRST, True)), closing=closing)


async def test_no_attempt_of_the_future_is_waited_for() -> None:
    ahead = Query(choice=Choice(job="job", attempt=2), follow=True)
    with pytest.raises(NotFound):
        await read(FakeRuntime(), ahead, standing())


@given(keys=st.sets(KEYS), read_before=st.sets(KEYS), attempt=st.integers(1, 3))
def test_who_goes_on_misses_nothing_that_comes_later(
    keys: set[ReplicaKey], read_before: set[ReplicaKey], attempt: int
) -> None:
    stands = standing(*(Known(key, True) for key in keys), attempt=3)
    choice = Choice(job="job", attempt=attempt)
    plain = [each.key for each in chosen(choice, stands, attempt, read_before)]
    later = [each.key for each in chosen(choice, stands, attempt, read_before, later=True, anew=False)]
    assert plain == sorted(set(plain))
    assert later == sorted(set(later))
    assert {key.attempt for key in plain} <= {attempt}
    assert len({(key.role, key.index) for key in plain}) == len(plain)
    for key in keys:
        slot = [each for each in read_before if (each.attempt, each.role, each.index) == key_slot(key)]
        is_due = key.attempt >= attempt and key.restart >= min((each.restart for each in slot), default=0)
        assert (key in later) == is_due


@given(
    log=LOGS,
    breaks=st.lists(st.integers(1, 3), max_size=6),
    start=STARTS,
    bounds=st.builds(Bounds, st.integers(0, 20), st.integers(0, 200_000)),
    search=st.none() | st.just(Search(["a*b", "x"])),
    limit=st.none() | st.integers(0, 300_000),
    follow=st.booleans(),
)
def test_broken_streams_tell_what_one_whole_stream_does(
    log: bytes,
    breaks: list[int],
    start: Start,
    bounds: Bounds,
    search: Search | None,
    limit: int | None,
    follow: bool,
) -> None:
    runtime = FakeRuntime()
    runtime._logs[FIRST] = Log(limit, bytearray(log))  # noqa: SLF001
    asked = query(start=start, bounds=bounds, search=search, follow=follow)
    whole = asyncio.run(broken(runtime, asked, []))
    parts = asyncio.run(broken(runtime, asked, breaks))
    assert b"".join(chunk.data for chunk in parts) == b"".join(chunk.data for chunk in whole)
    assert sum(chunk.lost for chunk in parts) == sum(chunk.lost for chunk in whole)
    assert parts[-1].position == whole[-1].position
    assert [chunk.position.end for chunk in whole] == [False] * (len(whole) - 1) + [True]


async def broken(runtime: FakeRuntime, asked: Query, breaks: list[int]) -> list[Chunk]:
    """What is told over several streams, each of which breaks after so many chunks but the last."""

    async def look() -> Standing:
        return standing(Known(FIRST, True), over=True)

    told: list[Chunk] = []
    logs = Logs({"here": runtime}, SystemClock(), asyncio.Event())
    for most in (*breaks, 1_000_000):
        positions = {FIRST: told[-1].position} if told else {}
        async with aclosing(logs.read(replace(asked, positions=positions), look)) as chunks:
            count = 0
            async for chunk in chunks:
                told.append(chunk)
                count += 1
                if count == most:
                    break
    return told


def key_slot(key: ReplicaKey) -> tuple[int, str, int]:
    return key.attempt, key.role, key.index
