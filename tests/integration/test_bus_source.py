"""A consumer asks the owner of events, in its own process or over a socket, and gets the same answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paddleflow.channel import open_channel_without_retries
from paddleflow.common.v1 import event_pb2_grpc
from paddleflow.problems import PermissionDenied, ResumeTokenExpired, Unavailable
from pf_kit.bus.ports import EventSource, Position
from pf_kit.bus.source import GrpcEventSource, LocalEventSource
from pf_kit.clock import SystemClock
from pf_kit.events import BEGINNING, Cursor
from pf_kit.memory import MemoryDatabase
from support.kit_client import ALICE, Running, bearer, running, settings, token
from support.kit_echo.app import Echo
from support.kit_echo.stubs import echo_pb2
from support.probe import Stored, encode

JOB = bearer(token("service/job"))


@pytest.fixture
async def echo() -> AsyncIterator[Running]:
    async with running(Echo(settings())) as served:
        yield served


def source(echo: Running, metadata: Sequence[tuple[str, str]] = JOB) -> GrpcEventSource:
    return GrpcEventSource(event_pb2_grpc.EventServiceStub(echo.channel), lambda: metadata)


async def put(echo: Running, name: str) -> None:
    await echo.stub.PutNote(echo_pb2.PutNoteRequest(note=echo_pb2.Note(name=name)), metadata=ALICE)


async def test_events_come_over_the_socket(echo: Running) -> None:
    owner = source(echo)
    start = await owner.head()
    for name in "abc":
        await put(echo, name)
    batch = await owner.events_after(start, 2)
    assert (batch.epoch, batch.previous) == (start.epoch, start.cursor)
    assert [event.fact.subject for event in batch.events] == ["note/a", "note/b"]
    assert abs(batch.events[0].create_time - datetime.now(UTC)) < timedelta(minutes=1)
    rest = await owner.events_after(Position(batch.epoch, batch.last), 100)
    assert [event.fact.subject for event in rest.events] == ["note/c"]
    assert await owner.head() == Position(start.epoch, rest.last)


async def test_who_may_not_ask_is_told(echo: Running) -> None:
    with pytest.raises(PermissionDenied):
        await source(echo, ALICE).head()


async def test_an_owner_that_is_away_is_told(tmp_path: Path) -> None:
    async with open_channel_without_retries(f"unix:{tmp_path}/nobody", None) as channel:
        owner = GrpcEventSource(event_pb2_grpc.EventServiceStub(channel), lambda: JOB)
        with pytest.raises(Unavailable):
            await owner.head()
        with pytest.raises(Unavailable):
            await owner.events_after(Position("e", BEGINNING), 1)


async def test_a_place_of_another_epoch_is_none(echo: Running) -> None:
    database = MemoryDatabase(encode=encode, clock=SystemClock())
    owners: list[EventSource] = [source(echo), LocalEventSource(database.log)]
    for owner in owners:
        with pytest.raises(ResumeTokenExpired):
            await owner.events_after(Position("another life", BEGINNING), 10)


async def test_the_own_log_answers_the_same_way() -> None:
    database = MemoryDatabase(encode=encode, clock=SystemClock())
    owner = LocalEventSource(database.log)
    start = await owner.head()
    async with database.change() as change:
        change.emit(Stored("a", 1))
        change.emit(Stored("b", 1))
    batch = await owner.events_after(start, 1)
    assert (batch.epoch, batch.previous, batch.last) == (start.epoch, BEGINNING, Cursor(1, 1))
    database.log.trim(Cursor(1, 2))
    with pytest.raises(ResumeTokenExpired):
        await owner.events_after(start, 1)
