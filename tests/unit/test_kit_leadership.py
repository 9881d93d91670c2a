"""Whoever leads stops in time, whatever happens to the store of leases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paddleflow.problems import Conflict, DatabaseUnavailable
from pf_kit.clock import Clock
from pf_kit.leases import MARGIN, PAUSE, TTL, Leadership, Lease, MemoryLeases
from support.virtual_time import VirtualClock, run_virtually

Trouble = tuple[str, float]
Answer = TypeVar("Answer")


class Troubled:
    """A store that meets one trouble after the other: it fails, or it is late with its question or its answer."""

    def __init__(self, leases: MemoryLeases, troubles: list[Trouble]) -> None:
        self._leases = leases
        self._troubles = iter(troubles)

    async def acquire(self, name: str, holder: str, address: str, ttl: float) -> Lease | None:
        return await self._meet(lambda: self._leases.acquire(name, holder, address, ttl))

    async def renew(self, lease: Lease, ttl: float) -> Lease | None:
        return await self._meet(lambda: self._leases.renew(lease, ttl))

    async def release(self, lease: Lease) -> None:
        await self._meet(lambda: self._leases.release(lease))

    async def read(self, name: str) -> Lease | None:
        return await self._leases.read(name)

    async def _meet(self, ask: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        what, seconds = next(self._troubles, ("none", 0.0))
        if what == "fails":
            raise DatabaseUnavailable
        if what == "conflicts":
            raise Conflict
        await asyncio.sleep(seconds if what == "late question" else 0)
        answer = await ask()
        await asyncio.sleep(seconds if what == "late answer" else 0)
        return answer


class Stage:
    """Where the instances work; notes who did when, and by which fence."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.leases = MemoryLeases(self.clock)
        self.at_work: set[str] = set()
        self.most_at_work = 0
        self.fences: list[int] = []

    def candidate(self, holder: str, troubles: list[Trouble]) -> Leadership:
        store = Troubled(self.leases, troubles)
        return Leadership(store, name="x", holder=holder, address="", clock=self.clock)

    async def work(self, lease: Lease) -> None:
        self.fences.append(lease.fence)
        self.at_work.add(lease.holder)
        self.most_at_work = max(self.most_at_work, len(self.at_work))
        try:
            await asyncio.sleep(1e9)
        finally:
            self.at_work.discard(lease.holder)


troubles = st.lists(
    st.tuples(st.sampled_from(["none", "fails", "conflicts", "late question", "late answer"]), st.floats(0, 8)),
    max_size=25,
)


@settings(max_examples=100, deadline=None)
@example([[("fails", 0.0)], [("late answer", 2.25)]], [])  # leaves less of the lease than a pause between renewals
@given(st.lists(troubles, min_size=1, max_size=4), st.lists(st.floats(0.1, 20), max_size=6))
def test_never_do_two_lead_at_once(fates: list[list[Trouble]], lives: list[float]) -> None:
    run_virtually(_play(fates, lives))


async def _play(fates: list[list[Trouble]], lives: list[float]) -> None:
    """Each candidate lives for a while; then it is gone without a word, and another one comes."""
    stage = Stage()

    async def one(holder: str, fate: list[Trouble], lives: list[float]) -> None:
        for number, life in enumerate([*lives, 60.0]):
            leadership = stage.candidate(f"{holder}-{number}", fate)
            with suppress(TimeoutError):
                async with asyncio.timeout(life):
                    await leadership.run(stage.work)

    await asyncio.gather(*(one(f"h{number}", fate, lives[number:]) for number, fate in enumerate(fates)))
    assert stage.most_at_work <= 1
    assert stage.fences == sorted(set(stage.fences))


def test_without_trouble_the_first_one_leads_on() -> None:
    async def play() -> None:
        stage = Stage()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(stage.candidate(holder, []).run(stage.work)) for holder in ("a", "b")]
            await asyncio.sleep(1000)
            assert stage.fences == [1]
            assert stage.at_work == {"a"}
            for task in tasks:
                task.cancel()

    run_virtually(play())


def test_another_one_leads_soon_after_the_leader_fell_silent() -> None:
    async def play() -> None:
        stage = Stage()
        silent: list[Trouble] = [("none", 0), *[("late question", 100.0)] * 3]
        tasks = [asyncio.create_task(stage.candidate(*each).run(stage.work)) for each in (("a", silent), ("b", []))]
        await asyncio.sleep(TTL - MARGIN + 0.01)
        assert stage.at_work == set(), "the leader stops before its lease ends"
        await asyncio.sleep(MARGIN + PAUSE)
        assert stage.at_work == {"b"}
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    run_virtually(play())


def test_a_clean_stop_leaves_the_lease_to_others_at_once() -> None:
    async def play() -> None:
        stage = Stage()
        running = asyncio.create_task(stage.candidate("a", []).run(stage.work))
        await asyncio.sleep(0.1)
        assert await stage.leases.read("x")
        running.cancel()
        await asyncio.wait([running])
        assert await stage.leases.read("x") is None

    run_virtually(play())


def test_the_end_of_the_work_is_the_end_and_its_failure_is_told() -> None:
    async def finish(lease: Lease) -> None:
        await asyncio.sleep(5)

    async def fail(lease: Lease) -> None:
        await asyncio.sleep(5)
        raise ValueError(lease.name)

    async def play() -> None:
        stage = Stage()
        await stage.candidate("a", []).run(finish)
        with pytest.raises(ValueError, match="x"):
            await stage.candidate("a", []).run(fail)
        assert await stage.leases.read("x") is None

    run_virtually(play())


class Stopped:
    """The clock of a process that was stopped: it jumps, and nothing ran meanwhile."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.missed = 0.0
        self.now = clock.now

    def monotonic(self) -> float:
        return self._clock.monotonic() + self.missed


def test_who_was_stopped_knows_at_once_that_it_no_longer_leads() -> None:
    async def play() -> None:
        stage = Stage()
        clock = Stopped(stage.clock)
        leadership = Leadership(stage.leases, name="x", holder="a", address="", clock=clock)
        running = asyncio.create_task(leadership.run(stage.work))
        await asyncio.sleep(0.1)
        before = leadership.lease
        clock.missed = TTL
        after = leadership.lease
        assert before
        assert after is None
        running.cancel()
        await asyncio.wait([running])

    run_virtually(play())
