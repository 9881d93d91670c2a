"""What is left of runs goes away, also if a filesystem does not answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from paddleflow.problems import FilesystemNotFound, Unavailable
from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Change
from pf_pipeline.artifacts.ports import Ask
from pf_pipeline.engine.tidying import Tidying
from pf_pipeline.runs.domain import Leaving
from pf_pipeline.runs.memory import MemoryRunStore
from pf_pipeline.runs.service import Runs
from support.fake_files import FakeFiles
from support.stored_runs import NoTraces, no_facts


@dataclass
class SomeFiles(FakeFiles):
    """Removes files of filesystems that are there and answer."""

    async def remove(self, ask: Ask, paths: Sequence[str]) -> Sequence[None]:
        match ask.filesystem_id:
            case "silent":
                raise Unavailable("it does not answer")
            case "gone":
                raise FilesystemNotFound("there is none")
        return [None for _ in paths]


async def free(_change: Change) -> None:
    """Nobody else drives."""


async def left(*filesystems: str, steps: int) -> Sequence[str]:
    """Where artifacts are left after some steps, of runs in these filesystems."""
    database, store = MemoryDatabase(encode=no_facts, clock=SystemClock()), MemoryRunStore()
    tidying = Tidying(
        database=database,
        store=store,
        runs=Runs(store=store, traces=NoTraces()),
        files=SomeFiles(),
        fence=free,
        clock=SystemClock(),
        kept=timedelta(days=1),
    )
    leavings = [Leaving(f"run-{at:06d}", "ada", filesystem, "folder") for at, filesystem in enumerate(filesystems)]
    async with database.change() as change:
        await store.leave(change, leavings)
    for _ in range(steps):
        await tidying.step()
    return [leaving.filesystem_id for leaving in await store.leavings(database.newest, "", 1000)]


async def test_who_does_not_answer_holds_nobody_up() -> None:
    assert await left("silent", "gone", "disk", steps=1) == ["silent"]


async def test_many_who_do_not_answer_hold_nobody_up() -> None:
    assert await left(*["silent"] * 60, "disk", steps=2) == ["silent"] * 60
