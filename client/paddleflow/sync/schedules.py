# Written by tools/generate_sync.py from paddleflow/aio/schedules.py; change it there.
"""Schedules: pipelines that run by the clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Unpack

import grpc

from paddleflow.models.pages import Page
from paddleflow.models.schedules import BackfilledTick, BackfillOptions, Schedule, ScheduleFilter
from paddleflow.pipeline.v1 import schedule_pb2, schedule_pb2_grpc
from paddleflow.sync.pages import every
from paddleflow.sync.session import Session
from paddleflow.wire.base import build, time_to_wire
from paddleflow.wire.schedules import list_request, schedule_from_wire, schedule_to_wire, tick_from_wire


class Schedules:
    """When versions of pipelines run by themselves. Each tick makes exactly one run, or is passed over."""

    def __init__(self, session: Session, channel: grpc.Channel) -> None:
        self._session = session
        self._stub: schedule_pb2_grpc.ScheduleServiceStub = schedule_pb2_grpc.ScheduleServiceStub(channel)

    def create(self, schedule: Schedule, *, request_id: str = "") -> Schedule:
        """Adds a schedule; returns it as the server completed it. Only root names an owner."""
        request = build(schedule_pb2.CreateScheduleRequest, schedule=schedule_to_wire(schedule))
        reply = self._session.change(self._stub.CreateSchedule, request, request_id)
        return schedule_from_wire(reply.schedule)

    def get(self, id: str) -> Schedule:  # noqa: A002 -- the word of the contract
        reply = self._session.call(self._stub.GetSchedule, build(schedule_pb2.GetScheduleRequest, id=id))
        return schedule_from_wire(reply.schedule)

    def list(self, **chosen: Unpack[ScheduleFilter]) -> Iterator[Schedule]:
        """The schedules that the caller may see, newest first; fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    def page(self, size: int = 0, token: str = "", **chosen: Unpack[ScheduleFilter]) -> Page[Schedule]:
        """One page of the list: at most `size` schedules (0: as many as the server likes) from the token on."""
        reply = self._session.call(self._stub.ListSchedules, list_request(chosen, size, token))
        return Page([schedule_from_wire(each) for each in reply.schedules], reply.next_page_token)

    def pause(self, id: str, *, request_id: str = "") -> Schedule:  # noqa: A002 -- as above
        """Holds a schedule: no runs are made until it is resumed."""
        request = build(schedule_pb2.PauseScheduleRequest, id=id)
        reply = self._session.change(self._stub.PauseSchedule, request, request_id)
        return schedule_from_wire(reply.schedule)

    def resume(self, id: str, *, request_id: str = "") -> Schedule:  # noqa: A002 -- as above
        """Lets a schedule go on; its `catchup` says what becomes of ticks that were missed."""
        request = build(schedule_pb2.ResumeScheduleRequest, id=id)
        reply = self._session.change(self._stub.ResumeSchedule, request, request_id)
        return schedule_from_wire(reply.schedule)

    def stop(self, id: str, *, request_id: str = "") -> Schedule:  # noqa: A002 -- as above
        """Ends a schedule for good; its runs go on."""
        request = build(schedule_pb2.StopScheduleRequest, id=id)
        reply = self._session.change(self._stub.StopSchedule, request, request_id)
        return schedule_from_wire(reply.schedule)

    def delete(self, id: str, *, request_id: str = "") -> None:  # noqa: A002 -- as above
        """Forgets a schedule that is over; its runs stay."""
        request = build(schedule_pb2.DeleteScheduleRequest, id=id)
        self._session.change(self._stub.DeleteSchedule, request, request_id)

    def backfill(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        since: datetime,
        until: datetime,
        *,
        request_id: str = "",
        **options: Unpack[BackfillOptions],
    ) -> Sequence[BackfilledTick]:
        """Makes runs for ticks in the past that have none; with `dry_run` it only tells which."""
        request = build(
            schedule_pb2.BackfillRequest,
            id=id,
            until=time_to_wire("until", until),
            reverse=options.get("reverse", False),
            again=options.get("again", False),
            dry_run=options.get("dry_run", False),
        )
        # `from` is a word of Python.
        getattr(request, "from").CopyFrom(time_to_wire("since", since))
        reply = self._session.change(self._stub.Backfill, request, request_id)
        return [tick_from_wire(each) for each in reply.ticks]
