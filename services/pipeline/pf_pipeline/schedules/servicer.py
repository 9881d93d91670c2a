"""ScheduleService on the wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from google.protobuf.message import Message

from paddleflow.pipeline.v1 import schedule_pb2, schedule_pb2_grpc
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.principal import Principal
from pf_kit.unit import Change, Database
from pf_pipeline.owners import Callers
from pf_pipeline.schedules.backfill import Backfill, Filled
from pf_pipeline.schedules.convert import draft_of, filled_message, filter_of, id_of, schedule_message, span_of
from pf_pipeline.schedules.domain import Schedule
from pf_pipeline.schedules.ports import RunMaker
from pf_pipeline.schedules.service import Schedules
from pf_pipeline.schedules.store import schedule_lock

R = TypeVar("R", bound=Message)
Work = Callable[[Change, Principal, str], Awaitable[Schedule]]


class ScheduleServicer(schedule_pb2_grpc.ScheduleServiceServicer):
    """Lets pipelines run by the clock."""

    def __init__(
        self,
        *,
        database: Database,
        callers: Callers,
        mutations: Mutations,
        lists: Lists,
        schedules: Schedules,
        backfill: Backfill,
        runs: RunMaker,
    ) -> None:
        self._database = database
        self._callers = callers
        self._mutations = mutations
        self._lists = lists
        self._schedules = schedules
        self._backfill = backfill
        self._runs = runs

    async def CreateSchedule(
        self, request: schedule_pb2.CreateScheduleRequest, _context: object
    ) -> schedule_pb2.CreateScheduleResponse:
        caller = await self._callers.current()
        draft = draft_of(caller, request.schedule)
        owner = await self._callers.owner(caller, draft.owner or caller.name)

        async def work(change: Change) -> schedule_pb2.CreateScheduleResponse:
            made = await self._schedules.create(change, caller, owner, draft)
            return schedule_pb2.CreateScheduleResponse(schedule=schedule_message(made))

        return await self._mutations.run(
            request,
            schedule_pb2.CreateScheduleResponse,
            # Nobody else knows the id yet, and of two schedules of one name the second is refused.
            locks=(schedule_lock(f"{owner.name}/{draft.name}"),),
            subject=f"schedule/{owner.name}/{draft.name}",
            work=work,
        )

    async def GetSchedule(
        self, request: schedule_pb2.GetScheduleRequest, _context: object
    ) -> schedule_pb2.GetScheduleResponse:
        found = await self._schedules.get(self._database.newest, await self._callers.current(), id_of(request.id))
        return schedule_pb2.GetScheduleResponse(schedule=schedule_message(found))

    async def ListSchedules(
        self, request: schedule_pb2.ListSchedulesRequest, _context: object
    ) -> schedule_pb2.ListSchedulesResponse:
        view, caller, chosen = self._database.newest, await self._callers.current(), filter_of(request)
        page = await self._lists.page(
            request,
            lambda after, limit: self._schedules.page(view, caller, chosen, int(after or 0), limit),
            lambda schedule: str(schedule.number),
        )
        return schedule_pb2.ListSchedulesResponse(
            schedules=map(schedule_message, page.things), next_page_token=page.next_token
        )

    async def PauseSchedule(
        self, request: schedule_pb2.PauseScheduleRequest, _context: object
    ) -> schedule_pb2.PauseScheduleResponse:
        return await self._move(request, schedule_pb2.PauseScheduleResponse, self._schedules.pause)

    async def ResumeSchedule(
        self, request: schedule_pb2.ResumeScheduleRequest, _context: object
    ) -> schedule_pb2.ResumeScheduleResponse:
        return await self._move(request, schedule_pb2.ResumeScheduleResponse, self._schedules.resume)

    async def StopSchedule(
        self, request: schedule_pb2.StopScheduleRequest, _context: object
    ) -> schedule_pb2.StopScheduleResponse:
        return await self._move(request, schedule_pb2.StopScheduleResponse, self._schedules.stop)

    async def DeleteSchedule(
        self, request: schedule_pb2.DeleteScheduleRequest, _context: object
    ) -> schedule_pb2.DeleteScheduleResponse:
        caller, id_ = await self._callers.current(), id_of(request.id)

        async def work(change: Change) -> schedule_pb2.DeleteScheduleResponse:
            await self._schedules.delete(change, caller, id_)
            return schedule_pb2.DeleteScheduleResponse()

        return await self._mutations.run(
            request,
            schedule_pb2.DeleteScheduleResponse,
            locks=(schedule_lock(id_),),
            subject=f"schedule/{id_}",
            work=work,
        )

    async def Backfill(self, request: schedule_pb2.BackfillRequest, _context: object) -> schedule_pb2.BackfillResponse:
        caller, id_, span = await self._callers.current(), id_of(request.id), span_of(request)
        schedule = await self._schedules.get(self._database.newest, caller, id_)
        for refusal in (await self._runs.refusals([schedule])).values():
            raise refusal

        if request.dry_run:
            async with self._database.change() as change:
                return _filled(await self._backfill.plan(change, schedule, span))

        async def work(change: Change) -> schedule_pb2.BackfillResponse:
            found = await self._schedules.get(change, caller, id_)
            return _filled(await self._backfill.fill(change, found, span))

        return await self._mutations.run(
            request,
            schedule_pb2.BackfillResponse,
            locks=(schedule_lock(id_),),
            subject=f"schedule/{id_}",
            work=work,
        )

    async def _move(self, request: Message, reply: type[R], work: Work) -> R:
        """A schedule goes into another state."""
        caller, id_ = await self._callers.current(), id_of(request.id)  # type: ignore[attr-defined]  # all of these have it

        async def moved(change: Change) -> R:
            schedule = schedule_message(await work(change, caller, id_))
            return reply(schedule=schedule)

        return await self._mutations.run(
            request, reply, locks=(schedule_lock(id_),), subject=f"schedule/{id_}", work=moved
        )


def _filled(filled: Sequence[Filled]) -> schedule_pb2.BackfillResponse:
    return schedule_pb2.BackfillResponse(ticks=map(filled_message, filled))
