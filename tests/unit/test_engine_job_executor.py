"""Jobs of steps: whoever is stopped before it has begun never begins, and nobody loses what it has written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from paddleflow.problems import JobNotFound, OwnerEpochConflict, Problem
from pf_pipeline.artifacts.ports import Ask, Files
from pf_pipeline.engine.core.happening import Event, Halt, JobSeen, JobState, Launch
from pf_pipeline.engine.executors.jobs import JobsExecutor, JobView, Listed
from pf_pipeline.engine.ports import End, Start
from pf_pipeline.owners import Owner
from pf_pipeline.plans.domain import Plan, PlannedStep
from pf_pipeline.runs.domain import Node, NodeWork, Order, Run, RunLife
from support.run_worlds import BEGIN
from support.waiting import until

RUN = Run(id="run-1", owner="ada", order=Order(name="p", filesystem_id="fs"), life=RunLife(create_time=BEGIN))
PLAN = Plan(name="p", entry_points={})
NODE = Node(run="run-1", path="a", name="a", attempt=1, job="job-a", work=NodeWork(outputs={"o": "out"}))
END = End(RUN, Halt("a", 1, "job-a"), 1)


def start(*, resumed: bool = False) -> Start:
    return Start(RUN, PLAN, Launch(NODE, PlannedStep(name="a", command="x"), "p.a", resumed=resumed), 1)


@dataclass
class Services:
    """Fulfils `Jobs`, and of `Files` what is needed; each waits until it may answer."""

    may_prepare: asyncio.Event = field(default_factory=asyncio.Event)
    may_create: asyncio.Event = field(default_factory=asyncio.Event)
    called: list[str] = field(default_factory=list)
    jobs: dict[str, JobState] = field(default_factory=dict)
    overtaken: bool = False
    """Another instance has a higher epoch."""

    async def prepare(self, _ask: Ask, paths: Sequence[str]) -> Sequence[None]:
        self.called.append("prepare")
        await self.may_prepare.wait()
        return [None for _ in paths]

    async def create(self, _owner: Owner, steps: Sequence[Start]) -> Sequence[JobView | Problem]:
        self.called.append("create")
        await self.may_create.wait()
        return [
            JobView(job, self.jobs.setdefault(job, JobState.RUNNING))
            for job in (step.launch.node.job for step in steps)
        ]

    async def stop(self, step: End) -> None:
        self.called.append("stop")
        if self.overtaken:
            raise OwnerEpochConflict("run-1 was taken over")
        if step.halt.job not in self.jobs:
            raise JobNotFound(step.halt.job)
        self.jobs[step.halt.job] = JobState.TERMINATED

    async def get(self, id_: str) -> JobView:
        if id_ not in self.jobs:
            raise JobNotFound(id_)
        return JobView(id_, self.jobs[id_])

    async def exit_status(self, _id: str) -> int | None:
        return None

    async def watch(self) -> AsyncIterator[JobView | Listed]:
        yield Listed()


@dataclass
class World:
    services: Services = field(default_factory=Services)
    told: list[Event] = field(default_factory=list)
    leads: bool = True

    def __post_init__(self) -> None:
        files = cast("Files", self.services)
        self.executor = JobsExecutor(
            self.services, files, lambda _run, event: self.told.append(event), lambda: self.leads
        )

    @property
    def last(self) -> JobState:
        seen = self.told[-1]
        assert isinstance(seen, JobSeen)
        return seen.state

    async def stopped_at(self, call: str, gate: asyncio.Event) -> None:
        """A step is ended while a call for its beginning is on its way."""
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            group.create_task(self.executor.start([start()]))
            await until(lambda: call in self.services.called)
            group.create_task(self.executor.end([END]))
            await asyncio.sleep(0)
            gate.set()


@pytest.fixture
async def world() -> World:
    return World()


async def test_who_is_stopped_while_room_is_made_never_begins(world: World) -> None:
    world.services.may_create.set()
    await world.stopped_at("prepare", world.services.may_prepare)
    assert (world.services.jobs, world.last) == ({}, JobState.TERMINATED)


async def test_who_is_stopped_while_it_is_created_is_stopped_after_that(world: World) -> None:
    world.services.may_prepare.set()
    await world.stopped_at("create", world.services.may_create)
    assert world.services.called == ["prepare", "create", "stop"]
    assert (world.services.jobs, world.last) == ({"job-a": JobState.TERMINATED}, JobState.TERMINATED)


async def test_who_has_begun_before_keeps_what_it_has_written(world: World) -> None:
    world.services.jobs["job-a"] = JobState.SUCCEEDED
    await world.executor.start([start(resumed=True)])
    assert (world.services.called, world.last) == ([], JobState.SUCCEEDED)


async def test_who_was_about_to_begin_before_begins(world: World) -> None:
    world.services.may_prepare.set()
    world.services.may_create.set()
    await world.executor.start([start(resumed=True)])
    assert (world.services.called, world.last) == (["prepare", "create"], JobState.RUNNING)


async def test_who_was_overtaken_stops_nothing_and_tells_nothing_of_it(world: World) -> None:
    world.services.jobs["job-a"], world.services.overtaken = JobState.RUNNING, True
    await world.executor.end([END])
    assert (world.services.called, world.told) == (["stop"], [])


async def test_who_no_longer_leads_takes_away_nothing(world: World) -> None:
    world.leads = False
    task = asyncio.create_task(world.executor.start([start()]))
    done, _ = await asyncio.wait([task], timeout=0.1)
    assert (done, world.services.called) == (set(), [])
    task.cancel()
