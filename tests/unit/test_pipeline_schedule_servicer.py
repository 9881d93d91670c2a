"""ScheduleService, from messages to messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Value
from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.pipeline.v1 import schedule_pb2
from paddleflow.problems import (
    InvalidArgument,
    PageTokenInvalid,
    PermissionDenied,
    PipelineVersionNotFound,
    ScheduleExists,
    ScheduleNotFound,
    ScheduleStateConflict,
)
from pf_kit.call import CURRENT, Call
from pf_kit.events import BEGINNING
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.page import PageTokens
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.unit import View
from pf_pipeline.schedules.backfill import Backfill
from pf_pipeline.schedules.service import Schedules
from pf_pipeline.schedules.servicer import ScheduleServicer
from support.hand_clock import HandClock
from support.owners import CALLERS
from support.schedules import MINUTE, START, kept_in_memory

SECRET = b"s" * 32
RUNNING, PAUSED = schedule_pb2.SCHEDULE_STATE_RUNNING, schedule_pb2.SCHEDULE_STATE_PAUSED
TERMINATED = schedule_pb2.SCHEDULE_STATE_TERMINATED


class TwoVersions:
    """Each pipeline has two versions."""

    async def version_of(self, view: View, caller: Principal, pipeline_id: str, version: int) -> int:
        if version > 2:
            raise PipelineVersionNotFound(f"pipeline {pipeline_id} has no version {version}")
        return version or 2


@dataclass
class Service:
    """The service on a database in memory."""

    clock: HandClock = field(default_factory=lambda: HandClock(START.timestamp()))

    def __post_init__(self) -> None:
        self.kept = kept_in_memory(self.clock)
        store, runs, database = self.kept.store, self.kept.runs, self.kept.database
        self.servicer = ScheduleServicer(
            database=database,
            callers=CALLERS,
            mutations=Mutations(database, SECRET),
            lists=Lists(tokens=PageTokens(SECRET)),
            schedules=Schedules(store=store, pipelines=TwoVersions()),
            backfill=Backfill(store=store, runs=runs),
            runs=runs,
        )

    async def call(self, request: Any, user: str = "alice") -> Any:
        name = type(request).__name__.removesuffix("Request")
        with calling(user, name):
            return await getattr(self.servicer, name)(request, None)

    async def create(self, user: str = "alice", **fields: Any) -> schedule_pb2.Schedule:
        draft = {"name": "nightly", "pipeline_id": "ppl-000001", "crontab": "* * * * *", **fields}
        request = schedule_pb2.CreateScheduleRequest(schedule=schedule_pb2.Schedule(**draft))
        made: schedule_pb2.Schedule = (await self.call(request, user)).schedule
        return made


@contextmanager
def calling(user: str, method: str) -> Iterator[None]:
    principal = Principal(PrincipalKind.USER, user, root=user == "root")
    token = CURRENT.set(Call(method, principal, "", "", float("inf")))
    try:
        yield
    finally:
        CURRENT.reset(token)


@pytest.fixture
def service() -> Service:
    return Service()


def backfill(id_: str, **fields: Any) -> schedule_pb2.BackfillRequest:
    """A field is called like a word of Python, and so it must be given by its name."""
    return schedule_pb2.BackfillRequest(id=id_, **{name.rstrip("_"): value for name, value in fields.items()})


def stamp(time: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(time)
    return message


async def test_a_schedule_is_made_with_what_was_left_out(service: Service) -> None:
    made = await service.create(crontab=" CRON_TZ=Europe/Berlin 0 9 * * * ", parameters={"n": Value(number_value=3)})
    assert made.id == "schedule-000001"
    assert (made.owner, made.pipeline_version, made.state) == ("alice", 2, RUNNING)
    assert (made.crontab, made.time_zone) == ("CRON_TZ=Europe/Berlin 0 9 * * *", "Europe/Berlin")
    assert made.start_time == made.create_time == stamp(START)
    assert not made.HasField("end_time")
    assert made.next_time == stamp(START + timedelta(hours=7))
    assert made.concurrency_policy == schedule_pb2.CONCURRENCY_POLICY_SUSPEND
    assert made.catchup == schedule_pb2.CATCHUP_ALL
    assert made.parameters["n"].number_value == 3
    assert (await service.call(schedule_pb2.GetScheduleRequest(id=made.id))).schedule == made
    (event,) = await service.kept.database.log.events_after(BEGINNING, 10)
    assert schedule_pb2.ScheduleEvent.FromString(event.fact.payload).schedule == made


async def test_the_first_tick_is_not_before_the_start(service: Service) -> None:
    made = await service.create(start_time=stamp(START + 90 * MINUTE), end_time=stamp(START + 91 * MINUTE))
    assert made.next_time == stamp(START + 90 * MINUTE)


async def test_a_repeated_request_makes_one_schedule(service: Service) -> None:
    request = schedule_pb2.CreateScheduleRequest(
        schedule=schedule_pb2.Schedule(name="nightly", pipeline_id="p", crontab="@daily"), request_id="1"
    )
    assert await service.call(request) == await service.call(request)
    request.request_id = "2"
    with pytest.raises(ScheduleExists):
        await service.call(request)


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"name": "n"}, "schedule.name"),
        ({"name": "1st"}, "schedule.name"),
        ({"name": "a-b"}, "schedule.name"),
        ({"name": "a" * 51}, "schedule.name"),
        ({"description": "x" * 257}, "schedule.description"),
        ({"pipeline_id": ""}, "schedule.pipeline_id"),
        ({"pipeline_version": -1}, "schedule.pipeline_version"),
        ({"crontab": ""}, "schedule.crontab"),
        ({"crontab": "0 0 30 2 *"}, "schedule.crontab"),
        ({"crontab": "TZ=Mars/Olympus @daily"}, "schedule.crontab"),
        ({"crontab": "@daily", "time_zone": "Mars/Olympus"}, "schedule.time_zone"),
        ({"crontab": "TZ=UTC @daily", "time_zone": "Asia/Tokyo"}, "schedule.time_zone"),
        ({"concurrency": -1}, "schedule.concurrency"),
        ({"concurrency": 1001}, "schedule.concurrency"),
        ({"concurrency_policy": 9}, "schedule.concurrency_policy"),
        ({"catchup": 9}, "schedule.catchup"),
        ({"expire_interval": -1}, "schedule.expire_interval"),
        ({"parameters": {"n": Value()}}, "schedule.parameters['n']"),
        ({"parameters": {"n": Value(string_value="\0")}}, "schedule.parameters['n']"),
        ({"start_time": stamp(START - 2 * MINUTE)}, "schedule.start_time"),
        ({"end_time": stamp(START - MINUTE)}, "schedule.end_time"),
        (
            {"crontab": "@hourly", "end_time": stamp(START + MINUTE), "start_time": stamp(START + MINUTE)},
            "schedule.end_time",
        ),
        ({"end_time": stamp(START), "start_time": stamp(START + MINUTE)}, "schedule.end_time"),
    ],
)
async def test_a_malformed_schedule_is_refused(service: Service, fields: dict[str, Any], wrong: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await service.create(**fields)
    assert [violation.field for violation in caught.value.violations] == [wrong]


async def test_a_version_that_is_not_there_is_refused(service: Service) -> None:
    with pytest.raises(PipelineVersionNotFound):
        await service.create(pipeline_version=3)


async def test_only_root_makes_schedules_of_others(service: Service) -> None:
    with pytest.raises(PermissionDenied):
        await service.create(owner="bobby")
    assert (await service.create("root", owner="bobby")).owner == "bobby"


async def test_others_neither_see_nor_change_a_schedule(service: Service) -> None:
    made = await service.create()
    for request in (
        schedule_pb2.GetScheduleRequest(id=made.id),
        schedule_pb2.PauseScheduleRequest(id=made.id),
        schedule_pb2.StopScheduleRequest(id=made.id),
        schedule_pb2.DeleteScheduleRequest(id=made.id),
        backfill(made.id, from_=stamp(START), until=stamp(START)),
    ):
        with pytest.raises(ScheduleNotFound):
            await service.call(request, "bobby")
    assert (await service.call(schedule_pb2.GetScheduleRequest(id=made.id), "root")).schedule == made
    assert not (await service.call(schedule_pb2.ListSchedulesRequest(), "bobby")).schedules
    with pytest.raises(ScheduleNotFound):
        await service.call(schedule_pb2.GetScheduleRequest(id="schedule-999999"))


async def test_a_schedule_is_held_and_goes_on(service: Service) -> None:
    service.clock.wall += 1
    made = await service.create()
    ticker = service.kept.ticker(service.clock)
    assert (await service.call(schedule_pb2.PauseScheduleRequest(id=made.id))).schedule.state == PAUSED
    assert (await service.call(schedule_pb2.PauseScheduleRequest(id=made.id))).schedule.state == PAUSED
    service.clock.wall += 130
    assert await ticker.step() == 0
    assert (await service.call(schedule_pb2.ResumeScheduleRequest(id=made.id))).schedule.state == RUNNING
    assert await ticker.step() == 1
    assert len(await service.kept.runs.all(service.kept.database.newest)) == 2


async def test_a_schedule_that_is_over_stays_so(service: Service) -> None:
    made = await service.create()
    with pytest.raises(ScheduleStateConflict, match="is running; stop it first"):
        await service.call(schedule_pb2.DeleteScheduleRequest(id=made.id))
    stopped = (await service.call(schedule_pb2.StopScheduleRequest(id=made.id))).schedule
    assert (stopped.state, stopped.message, stopped.HasField("next_time")) == (
        TERMINATED,
        "stopped by user/alice",
        False,
    )
    for request in (
        schedule_pb2.PauseScheduleRequest(id=made.id),
        schedule_pb2.ResumeScheduleRequest(id=made.id),
        schedule_pb2.StopScheduleRequest(id=made.id),
    ):
        with pytest.raises(ScheduleStateConflict, match="is over: its state is terminated"):
            await service.call(request)
    await service.call(schedule_pb2.DeleteScheduleRequest(id=made.id))
    with pytest.raises(ScheduleNotFound):
        await service.call(schedule_pb2.GetScheduleRequest(id=made.id))


async def test_schedules_are_listed_in_pages(service: Service) -> None:
    names = [(await service.create(name=f"nightly_{number}")).name for number in range(3)]
    first = await service.call(schedule_pb2.ListSchedulesRequest(page_size=2))
    assert [each.name for each in first.schedules] == names[:0:-1]
    second = await service.call(schedule_pb2.ListSchedulesRequest(page_size=2, page_token=first.next_page_token))
    assert [each.name for each in second.schedules] == names[:1]
    assert not second.next_page_token
    with pytest.raises(PageTokenInvalid):
        await service.call(schedule_pb2.ListSchedulesRequest(names=["x"], page_token=first.next_page_token))
    with pytest.raises(InvalidArgument):
        await service.call(schedule_pb2.ListSchedulesRequest(states=[99]))  # type: ignore[list-item]  # of a newer client


async def test_runs_of_the_past_are_planned_and_made(service: Service) -> None:
    made = await service.create()
    service.clock.wall += 600
    request = backfill(made.id, from_=stamp(START), until=stamp(START + 2 * MINUTE), dry_run=True)
    planned = await service.call(request)
    assert [(tick.time, tick.run_id, tick.new) for tick in planned.ticks] == [
        (stamp(START + number * MINUTE), "", True) for number in range(3)
    ]
    assert not await service.kept.runs.all(service.kept.database.newest)
    request.dry_run, request.request_id = False, "1"
    filled = await service.call(request)
    assert [tick.run_id for tick in filled.ticks] == ["run-000001", "run-000002", "run-000003"]
    assert await service.call(request) == filled


async def test_runs_of_the_past_are_refused_to_whom_they_are_now(service: Service) -> None:
    made = await service.create()
    service.kept.runs.refusing.refused[made.id] = PermissionDenied("alice may not use the filesystem data")
    with pytest.raises(PermissionDenied):
        await service.call(backfill(made.id, from_=stamp(START), until=stamp(START)))


@pytest.mark.parametrize("given", ["from", "until"])
async def test_both_ends_of_a_range_must_be_given(service: Service, given: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        await service.call(backfill("x", **{given: stamp(START)}))
    assert [violation.field for violation in caught.value.violations] == [{"from": "until", "until": "from"}[given]]
