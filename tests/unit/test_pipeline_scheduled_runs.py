"""Runs are made for schedules as their owners, of whom and of whose rights it is asked before each tick."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest

from paddleflow.problems import PermissionDenied, Unavailable, UserNotFound
from pf_kit.changes import UNBORN
from pf_kit.memory import MemoryDatabase
from pf_pipeline.artifacts.memory import MemoryArtifactStore
from pf_pipeline.artifacts.service import Traces
from pf_pipeline.joints.events import encode
from pf_pipeline.joints.schedules import ScheduledRuns
from pf_pipeline.owners import Owner
from pf_pipeline.runs.domain import Order, Source
from pf_pipeline.runs.memory import MemoryRunStore
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.states import RunState
from pf_pipeline.runs.taking import Draft
from pf_pipeline.schedules.domain import Schedule
from pf_pipeline.schedules.ports import Wanted
from support.hand_clock import HandClock
from support.schedules import MINUTE, START, a_schedule


@dataclass
class Outside:
    """Users, and what they may run."""

    users: Collection[str] = ("alice", "bobby")
    refused: Collection[str] = ()
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def since(self, name: str) -> datetime:
        if name not in self.users:
            raise UserNotFound(f"there is no user {name!r}")
        return UNBORN

    async def order(self, owner: Owner, draft: Draft) -> tuple[Order, None]:
        self.asked.append((owner.name, draft.wanted.pipeline_id))
        if owner.name in self.refused:
            raise PermissionDenied(f"{owner.name} may not use the filesystem data")
        return Order(name="train", document="d", source=Source(pipeline_id=draft.wanted.pipeline_id)), None


class Site:
    """Whoever makes runs, and where they are kept."""

    def __init__(self) -> None:
        self.outside, self.store = Outside(), MemoryRunStore()
        self.database = MemoryDatabase(encode=encode, clock=HandClock())
        runs = Runs(store=self.store, traces=Traces(store=MemoryArtifactStore()))
        self.made = ScheduledRuns(self.outside, runs, self.store, self.outside)  # type: ignore[arg-type]  # all it asks

    async def make(self, *schedules: Schedule) -> list[str]:
        async with self.database.change() as change:
            return list(await self.made.make(change, [Wanted(each, START + MINUTE) for each in schedules]))


@pytest.fixture
def site() -> Site:
    return Site()


async def test_a_run_is_its_owners_and_knows_its_tick(site: Site) -> None:
    schedule = a_schedule()
    assert await site.made.refusals([schedule]) == {}
    (id_,) = await site.make(schedule)
    (run,) = await site.store.runs(site.database.newest, [id_])
    assert (run.owner, run.order.title, run.order.schedule_id) == ("alice", "schedule_000001", "schedule-000001")
    assert run.order.scheduled_time == START + MINUTE
    assert await site.made.active(site.database.newest, [schedule.id]) == {schedule.id: 1}


async def test_what_is_the_same_is_asked_once(site: Site) -> None:
    schedules = [a_schedule(f"schedule-{number:06d}") for number in range(5)]
    other = replace(a_schedule("schedule-000009"), pipeline_id="ppl-000002")
    assert await site.made.refusals([*schedules, other]) == {}
    assert sorted(site.outside.asked) == [("alice", "ppl-000001"), ("alice", "ppl-000002")]
    runs = await site.store.runs(site.database.newest, await site.make(*schedules, other))
    assert {run.order.schedule_id for run in runs} == {each.id for each in (*schedules, other)}


async def test_it_is_asked_anew_before_each_tick(site: Site) -> None:
    schedule = a_schedule()
    assert await site.made.refusals([schedule]) == {}
    site.outside.refused = ["alice"]
    (refusal,) = (await site.made.refusals([schedule])).values()
    assert isinstance(refusal, PermissionDenied)
    site.outside.users = ["bobby"]
    refusals = await site.made.refusals([schedule, replace(a_schedule("schedule-000002"), owner="bobby")])
    assert [type(problem) for problem in refusals.values()] == [UserNotFound]


async def test_what_was_passed_over_is_on_record_even_without_an_order(site: Site) -> None:
    async with site.database.change() as change:
        wanted = [Wanted(a_schedule(), START + MINUTE, "it expired")]
        (id_,) = await site.made.pass_over(change, wanted)
    (run,) = await site.store.runs(site.database.newest, [id_])
    assert (run.life.state, run.life.message, run.order.name) == (RunState.SKIPPED, "it expired", "schedule_000001")
    assert await site.made.failed(site.database.newest, [id_, "run-999999"]) == ["run-999999"]


async def test_no_more_is_kept_of_schedules_than_is_needed(site: Site) -> None:
    schedules = [a_schedule(f"schedule-{number:06d}") for number in range(1001)]
    await site.made.refusals(schedules)
    assert len(await site.make(*schedules[1:])) == 1000
    with pytest.raises(Unavailable):
        await site.make(schedules[0])
