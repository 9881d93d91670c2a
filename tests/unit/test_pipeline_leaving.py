"""Whoever was deleted is let go of as soon as that is heard, and users are not asked for all the time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2
from paddleflow.problems import Unavailable
from pf_kit.clock import SystemClock
from pf_kit.events import Cursor, Event, Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Change
from pf_kit.users import USER_EVENT
from pf_pipeline.joints import leaving
from pf_pipeline.joints.leaving import Leaving, UserEvents
from pf_pipeline.owners import Owner
from support.stored_runs import no_facts
from support.waiting import until

ADDED = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class World:
    """Users, and what they have."""

    known: dict[str, datetime] = field(default_factory=lambda: {"ada": ADDED})
    had: list[Owner] = field(default_factory=lambda: [Owner("ada", ADDED)])
    asked: int = 0
    away: bool = False
    ends: int = 0
    """How often something is about to end before it has."""

    async def all(self) -> Mapping[str, datetime]:
        self.asked += 1
        if self.away:
            raise Unavailable("nobody answers")
        return dict(self.known)

    async def owners(self) -> Sequence[Owner]:
        return list(self.had)

    async def let_go(self, owner: Owner) -> bool:
        if self.ends:
            self.ends -= 1
            return True
        self.had.remove(owner)
        return False


async def free(_change: Change) -> None:
    """Nobody else drives."""


@asynccontextmanager
async def watched(world: World) -> AsyncIterator[UserEvents]:
    left = asyncio.Event()
    task = asyncio.create_task(Leaving(world, [world], left).run())
    try:
        yield UserEvents(free, left)
    finally:
        task.cancel()


async def hear(events: UserEvents, kind: event_pb2.ChangeKind.ValueType) -> None:
    payload = auth_pb2.UserEvent(kind=kind, user=auth_pb2.User(name="ada")).SerializeToString()
    event = Event(Cursor(1, 1), Fact(USER_EVENT, "user/ada", 1, payload), "", ADDED)
    async with MemoryDatabase(encode=no_facts, clock=SystemClock()).change() as change:
        await events.apply(change, [event])


async def test_nobody_is_asked_before_somebody_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "STOPPING_SECONDS", 0.0)
    world = World()
    async with watched(world) as events:
        await until(lambda: world.asked == 1)
        await hear(events, event_pb2.CHANGE_KIND_CREATED)
        for _ in range(100):
            await asyncio.sleep(0)
        assert world.asked == 1
        world.known.clear()
        await hear(events, event_pb2.CHANGE_KIND_DELETED)
        await until(lambda: not world.had)


async def test_what_is_about_to_end_is_looked_at_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "STOPPING_SECONDS", 0.01)
    world = World(known={}, ends=3)
    async with watched(world):
        await until(lambda: not world.had)


async def test_whoever_cannot_be_asked_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "STOPPING_SECONDS", 0.01)
    world = World(known={}, away=True)
    async with watched(world):
        await until(lambda: world.asked > 2)
        world.away = False
        await until(lambda: not world.had)
