"""What the small server of `fake_paddleflow` answers about schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paddleflow.pipeline.v1 import schedule_pb2 as pb
from paddleflow.problems import ScheduleNotFound, ScheduleStateConflict
from support.fake_services import BEGAN, World, page

OVER = (pb.SCHEDULE_STATE_SUCCESS, pb.SCHEDULE_STATE_FAILED, pb.SCHEDULE_STATE_TERMINATED)


@dataclass
class Schedules:
    world: World

    def CreateSchedule(self, request: Any) -> Any:  # noqa: N802
        made = pb.Schedule.FromString(request.schedule.SerializeToString())
        made.id = f"schedule-{len(self.world.schedules) + 1:06}"
        made.MergeFrom(pb.Schedule(state=pb.SCHEDULE_STATE_RUNNING, create_time=BEGAN, update_time=BEGAN, version=1))
        made.MergeFrom(pb.Schedule(next_time=BEGAN))
        made.owner = made.owner or self.world.caller
        made.pipeline_version = made.pipeline_version or 1
        self.world.schedules[made.id] = made
        return pb.CreateScheduleResponse(schedule=made)

    def GetSchedule(self, request: Any) -> Any:  # noqa: N802
        return pb.GetScheduleResponse(schedule=self._found(request.id))

    def ListSchedules(self, request: Any) -> Any:  # noqa: N802
        chosen = [
            each
            for _, each in sorted(self.world.schedules.items())
            if (not request.states or each.state in request.states)
            and (not request.names or each.name in request.names)
        ]
        items, token = page(chosen, request, lambda each: each.id)
        return pb.ListSchedulesResponse(schedules=items, next_page_token=token)

    def PauseSchedule(self, request: Any) -> Any:  # noqa: N802
        return pb.PauseScheduleResponse(schedule=self._moved(request.id, pb.SCHEDULE_STATE_PAUSED))

    def ResumeSchedule(self, request: Any) -> Any:  # noqa: N802
        return pb.ResumeScheduleResponse(schedule=self._moved(request.id, pb.SCHEDULE_STATE_RUNNING))

    def StopSchedule(self, request: Any) -> Any:  # noqa: N802
        return pb.StopScheduleResponse(schedule=self._moved(request.id, pb.SCHEDULE_STATE_TERMINATED))

    def DeleteSchedule(self, request: Any) -> Any:  # noqa: N802
        if self._found(request.id).state not in OVER:
            raise ScheduleStateConflict(f"schedule {request.id!r} is not over; stop it first")
        del self.world.schedules[request.id]
        return pb.DeleteScheduleResponse()

    def Backfill(self, request: Any) -> Any:  # noqa: N802
        self._found(request.id)
        start = getattr(request, "from")
        ticks = [
            pb.BackfilledTick(time=start, run_id="run-000001"),
            pb.BackfilledTick(time=request.until, run_id="" if request.dry_run else "run-000002", new=True),
        ]
        return pb.BackfillResponse(ticks=ticks[::-1] if request.reverse else ticks)

    def _found(self, id_: str) -> pb.Schedule:
        if (found := self.world.schedules.get(id_)) is None:
            raise ScheduleNotFound(f"no schedule {id_!r}")
        return found

    def _moved(self, id_: str, state: pb.ScheduleState.ValueType) -> pb.Schedule:
        found = self._found(id_)
        if found.state in OVER:
            raise ScheduleStateConflict(f"schedule {id_!r} is over")
        found.state = state
        return found
