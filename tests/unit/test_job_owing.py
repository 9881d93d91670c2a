"""Who looks after jobs is woken for what is owed at its stages, and for nothing else."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from paddleflow.queue.v1 import workload_pb2
from pf_job.driving.convert import WORKLOAD_EVENT
from pf_job.driving.hearing import QueueEvents
from pf_job.driving.told import MOST, Told
from pf_job.jobs.life import Event, Grant
from pf_job.jobs.memory import MemoryJobStore
from pf_job.jobs.owing import Owing
from pf_job.jobs.states import Kind, Stage
from pf_job.jobs.telling import News
from pf_kit.events import BEGINNING, Fact
from pf_kit.events import Event as Told_
from pf_kit.unit import Change

NOW = datetime(2030, 1, 1, tzinfo=UTC)


async def test_only_who_follows_a_stage_is_woken() -> None:
    owing = Owing()
    halting, launching = owing.follow(Stage.HALT, Stage.PART), owing.follow(Stage.LAUNCH)
    owing.note({Stage.PART})
    await halting()
    for asleep in (asyncio.ensure_future(halting()), asyncio.ensure_future(launching())):
        await asyncio.sleep(0)
        assert not asleep.done()
        asleep.cancel()


async def test_what_is_noted_while_nobody_waits_is_heard_once() -> None:
    owing = Owing()
    rung = owing.follow(Stage.SUBMIT)
    owing.note([Stage.SUBMIT])
    owing.note([Stage.SUBMIT])
    await rung()
    again = asyncio.ensure_future(rung())
    await asyncio.sleep(0)
    assert not again.done()
    again.cancel()


def admitted(job: str, version: int) -> News:
    grant = Grant(f"{job}/1", version, "c", {"main": 1}, NOW)
    return News(job, Event(kind=Kind.ADMITTED, attempt=1, grant=grant))


def test_what_was_told_is_known_until_much_more_was() -> None:
    told = Told()
    told.note([admitted("a", 1)])
    assert told.knows(admitted("a", 1))
    assert not told.knows(admitted("a", 2))
    assert not told.knows(admitted("b", 1))
    told.note([admitted(f"other-{number}", 1) for number in range(MOST)])
    assert not told.knows(admitted("a", 1))
    assert told.knows(admitted("other-0", 1))


def event(**fact: object) -> Told_:
    payload = workload_pb2.WorkloadEvent(**fact).SerializeToString()  # type: ignore[arg-type]
    return Told_(BEGINNING, Fact(WORKLOAD_EVENT, "workload/a", 1, payload), "", NOW)


def admitted_event(job: str) -> Told_:
    key = workload_pb2.WorkloadKey(job_id=job, attempt=1)
    message = workload_pb2.Admitted(key=key, grant_id=f"{job}/1", grant_version=1)
    message.deadline.FromDatetime(NOW)
    return event(admitted=message)


async def test_events_that_a_job_was_answered_with_are_not_heeded() -> None:
    told = Told()
    events = QueueEvents(store=MemoryJobStore(), fence=_free, told=told, amiss=asyncio.Event(), left=asyncio.Event())
    assert events.heeds(admitted_event("a"))
    told.note([admitted("a", 1)])
    assert not events.heeds(admitted_event("a"))
    assert events.heeds(admitted_event("b"))
    assert not events.heeds(event(submitted=workload_pb2.Workload(queue="q")))


async def _free(_: Change) -> None:
    """Nobody else leads."""
