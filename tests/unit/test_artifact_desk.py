"""Questions that come together are answered together, and a wrong one spoils no other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from paddleflow.problems import FilesystemNotGranted, Unavailable
from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Change
from pf_pipeline.artifacts.desk import MOST, Desk
from pf_pipeline.artifacts.domain import NodeKey, Shelf
from pf_pipeline.artifacts.judging import Judging, Miss, Question
from pf_pipeline.artifacts.keys import StepParts
from pf_pipeline.artifacts.memory import MemoryArtifactStore
from pf_pipeline.artifacts.ports import Ask, Fault, Pending
from pf_pipeline.artifacts.reading import Reading
from pf_pipeline.documents.model import CacheMode
from support.fake_files import FakeFiles


@dataclass
class Guarded(FakeFiles):
    """Some users may not read."""

    barred: set[str] = field(default_factory=set)
    away: int = 0
    """Calls that nobody answers."""
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    asked_for: asyncio.Event = field(default_factory=asyncio.Event)

    async def digest(self, ask: Ask, paths: Sequence[str], mode: CacheMode) -> Sequence[str | Pending | Fault]:
        self.asked_for.set()
        await self.gate.wait()
        if self.away:
            self.away -= 1
            raise Unavailable("nobody there")
        if ask.user in self.barred:
            raise FilesystemNotGranted(f"{ask.user} may not")
        return await super().digest(ask, paths, mode)


def no_events(event: object) -> Fact:
    raise TypeError(event)


async def free(change: Change) -> None:
    """Nobody else drives."""


def desk(files: Guarded) -> Desk:
    files.write("data", "d")
    database, store = MemoryDatabase(encode=no_events, clock=SystemClock()), MemoryArtifactStore()
    reading = Reading(files=files)
    return Desk(Judging(database=database, store=store, reading=reading, clock=SystemClock()), free)


def question(number: int, user: str = "ada") -> Question:
    return Question(
        by=NodeKey("r", str(number)),
        component="step",
        shelf=Shelf(user, "fs", "x"),
        parts=StepParts(command=str(number)),
        user=user,
        inputs={"data": ("data",)},
    )


async def test_many_are_answered_together() -> None:
    files = Guarded()
    files.gate.set()
    at = desk(files)
    answers = await asyncio.gather(*(at.ask(question(number)) for number in range(MOST + 1)))
    assert all(isinstance(answer, Miss) and answer.known.question.by.node == str(n) for n, answer in enumerate(answers))
    assert len(files.asked) == 2
    assert isinstance(await at.ask(question(0)), Miss)


async def test_those_who_come_meanwhile_are_the_next() -> None:
    files = Guarded()
    at = desk(files)
    first = asyncio.create_task(at.ask(question(1)))
    await files.asked_for.wait()
    later = [asyncio.create_task(at.ask(question(number))) for number in (2, 3)]
    await asyncio.sleep(0)
    files.gate.set()
    assert all(isinstance(answer, Miss) for answer in await asyncio.gather(first, *later))
    assert len(files.asked) == 2


async def test_one_that_cannot_be_answered_spoils_no_other() -> None:
    files = Guarded(barred={"bob"})
    files.gate.set()
    at = desk(files)
    good, bad, more = await asyncio.gather(
        at.ask(question(1)), at.ask(question(2, "bob")), at.ask(question(3)), return_exceptions=True
    )
    assert isinstance(good, Miss)
    assert isinstance(more, Miss)
    assert isinstance(bad, FilesystemNotGranted)


async def test_what_passes_is_told_to_all_and_the_next_are_answered() -> None:
    files = Guarded(away=1)
    files.gate.set()
    at = desk(files)
    told = await asyncio.gather(at.ask(question(1)), at.ask(question(2)), return_exceptions=True)
    assert [type(each) for each in told] == [Unavailable] * 2
    assert isinstance(await at.ask(question(1)), Miss)


async def test_who_goes_away_holds_nobody_up() -> None:
    files = Guarded()
    at = desk(files)
    gone, stays = asyncio.create_task(at.ask(question(1))), asyncio.create_task(at.ask(question(2)))
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    files.gate.set()
    async with asyncio.timeout(5):
        assert isinstance(await stays, Miss)
