"""A relay may die at any step, and the bus may lose anything: what is on it is in order and without a gap."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paddleflow.problems import Conflict, DatabaseUnavailable
from pf_kit.bus.ports import Position
from pf_kit.bus.progress import Gap, fresh
from pf_kit.bus.relay import BATCH_BYTES, BATCH_EVENTS, READ_EVENTS, Relay, batches
from pf_kit.clock import SystemClock
from pf_kit.events import BEGINNING, Cursor, Event, Fact
from pf_kit.memory import MemoryDatabase
from support.fake_bus import BusGone, FakeBus, FakeMark, Faults, FaultyLog, Killed
from support.probe import Stored, encode
from support.waiting import until

TIME = datetime(2026, 1, 1, tzinfo=UTC)


class Jumping(SystemClock):
    """A clock on which each look is a second later: the relay notes its place at each step."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        self._now += 1.0
        return self._now


class Setting:
    """A log with events, and what relays find and leave behind."""

    def __init__(self) -> None:
        self.database = MemoryDatabase(encode=encode, clock=SystemClock())
        self.mark = FakeMark()
        self.bus = FakeBus()

    async def write(self, count: int) -> None:
        async with self.database.change() as change:
            for number in range(count):
                change.emit(Stored(f"k{number}", 1))

    async def relay(self, faults: Faults) -> None:
        """Runs a relay until it dies or there is nothing left to do."""
        self.mark.faults = self.bus.faults = faults
        relay = Relay(FaultyLog(self.database.log, faults), self.mark, self.bus, Jumping())
        running = asyncio.create_task(relay.run())
        head = await self.database.log.head()
        await until(lambda: running.done() or self.mark.place >= head, pause=0)
        running.cancel()
        await asyncio.wait([running])

    async def log(self) -> list[Event]:
        return list(await self.database.log.events_after(BEGINNING, 10_000))

    def end_or_gap(self, log: list[Event], at: int) -> bool:
        """True if a reader that stands behind so many events comes to the end, or notices that events are missing."""
        places = [BEGINNING, *(event.cursor for event in log)]
        while at < len(log):
            try:
                taken = fresh(Position(self.database.log.epoch, places[at]), self.bus.entries)
            except Gap:
                return True
            assert taken == log[at : at + len(taken)]
            if not taken:
                return False
            at += len(taken)
        return True

    def read(self) -> list[Event]:
        return fresh(Position(self.database.log.epoch, BEGINNING), self.bus.entries)


async def test_all_events_go_out_in_order() -> None:
    setting = Setting()
    await setting.write(READ_EVENTS + 250)
    await setting.write(3)
    await setting.relay(Faults())
    assert setting.read() == await setting.log()


@pytest.mark.parametrize("how", [Killed, BusGone, DatabaseUnavailable, Conflict])
async def test_a_relay_may_fail_at_each_step(how: type[Exception]) -> None:
    """The first run counts the steps; then one run fails at each of them."""
    counting = Setting()
    await counting.write(700)
    whole = Faults()
    await counting.relay(whole)
    assert whole.steps > 8
    for step in range(1, whole.steps + 1):
        setting = Setting()
        await setting.write(700)
        await setting.relay(Faults(step, how))
        await setting.write(20)
        await setting.relay(Faults())
        assert setting.read() == await setting.log(), f"failed at step {step}"


steps = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 450)),
    st.tuples(st.just("relay"), st.integers(1, 12)),
    st.tuples(st.just("flush"), st.just(0)),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(steps, max_size=8))
def test_what_is_on_the_bus_never_hides_an_event(story: list[tuple[str, int]]) -> None:
    """Whatever relays died of and Redis lost: a reader either gets the next event, or notices that it is missing."""
    asyncio.run(_tell(story))


async def _tell(story: list[tuple[str, int]]) -> None:
    setting = Setting()
    for what, number in story:
        match what:
            case "write":
                await setting.write(number)
            case "relay":
                await setting.relay(Faults(number))
            case _:
                setting.bus.entries.clear()
    await setting.write(1)
    await setting.relay(Faults())
    log = await setting.log()
    for start in range(len(log) + 1):
        assert setting.end_or_gap(log, start), f"a reader at {start} would wait for ever"


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 2 * BATCH_BYTES), max_size=12), st.integers(0, 450))
def test_messages_end_at_a_number_of_events_and_of_bytes(large: list[int], small: int) -> None:
    payloads = [bytes(size) for size in [*large, *[1] * small]]
    events = [Event(Cursor(1, at), Fact("t", "s", 1, payload), "", TIME) for at, payload in enumerate(payloads, 1)]
    found = list(batches("e", BEGINNING, events))
    assert [event for batch in found for event in batch.events] == events
    assert [batch.previous for batch in found] == [BEGINNING, *(batch.last for batch in found)][: len(found)]
    for batch in found:
        assert 0 < len(batch.events) <= BATCH_EVENTS
        assert sum(len(event.fact.payload) for event in batch.events[:-1]) < BATCH_BYTES


async def test_events_that_are_gone_before_they_are_published_leave_a_gap() -> None:
    setting = Setting()
    await setting.write(5)
    log = await setting.log()
    setting.database.log.trim(log[2].cursor)
    await setting.relay(Faults())
    assert [event for batch in setting.bus.entries for event in batch.events] == log[3:]
    assert setting.bus.entries[0].previous == log[2].cursor
    with pytest.raises(Gap):
        setting.read()
    assert fresh(Position(setting.database.log.epoch, log[2].cursor), setting.bus.entries) == log[3:]
