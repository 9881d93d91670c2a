"""The original's calls about schedules over the typed client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypedDict

from paddleflow.compat.answers import answer
from paddleflow.compat.jobs import moment
from paddleflow.compat.run_infos import RunInfo
from paddleflow.compat.runs import version_number, words
from paddleflow.models.runs import RunState
from paddleflow.models.schedules import Catchup, ConcurrencyPolicy, Schedule, ScheduleFilter, ScheduleState
from paddleflow.original import member, original_time
from paddleflow.original_schedules import fs_config, options_of
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.sync import PaddleFlow


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleInfo:
    """A schedule."""

    schedule_id: str
    name: str
    desc: str
    pipeline_id: str
    pipeline_version_id: str
    username: str
    fs_config: Mapping[str, str]
    crontab: str
    options: Mapping[str, Any]
    start_time: str
    end_time: str
    create_time: str
    update_time: str
    next_run_time: str
    message: str
    status: str

    @classmethod
    def of(cls, schedule: Schedule) -> ScheduleInfo:
        return cls(
            schedule_id=schedule.id,
            name=schedule.name,
            desc=schedule.description,
            pipeline_id=schedule.pipeline_id,
            pipeline_version_id=str(schedule.pipeline_version),
            username=schedule.owner,
            fs_config=fs_config(schedule),
            crontab=schedule.crontab,
            options=options_of(schedule),
            start_time=original_time(schedule.start_time),
            end_time=original_time(schedule.end_time),
            create_time=original_time(schedule.create_time),
            update_time=original_time(schedule.update_time),
            next_run_time=original_time(schedule.next_time),
            message=schedule.message,
            status=str(schedule.state),
        )


class ScheduleList(TypedDict):
    """A page of schedules."""

    scheduleList: list[ScheduleInfo]
    nextMarker: str | None


class ScheduleShown(TypedDict):
    """A schedule, and a page of its runs."""

    scheduleInfo: ScheduleInfo
    runList: list[RunInfo]
    nextMarker: str | None


class ScheduleCalls:
    """What `Client` does with schedules."""

    _paddleflow: PaddleFlow

    @answer
    def create_schedule(
        self,
        name: str,
        pipeline_id: str,
        pipeline_version_id: str | int,
        crontab: str,
        desc: str | None = None,
        start_time: str | None = None,
        end_time: str | None = None,
        concurrency: int | str | None = None,
        concurrency_policy: str | None = None,
        expire_interval: int | str | None = None,
        catchup: bool | None = None,
        username: str | None = None,
    ) -> str:
        """Lets a version of a pipeline run by the clock; returns the id of the schedule.

        Times are written as ``2026-05-01 12:00:00``, the interval is in seconds.
        """
        schedule = Schedule(
            name=name,
            pipeline_id=pipeline_id,
            pipeline_version=version_number(pipeline_version_id),
            crontab=crontab,
            description=desc or "",
            owner=username or "",
            start_time=moment("start_time", start_time) if start_time else None,
            end_time=moment("end_time", end_time) if end_time else None,
            concurrency=_count("concurrency", concurrency),
            concurrency_policy=(
                member(ConcurrencyPolicy, concurrency_policy, "concurrency_policy")
                if concurrency_policy
                else ConcurrencyPolicy.UNSPECIFIED
            ),
            expire_interval=timedelta(seconds=_count("expire_interval", expire_interval)),
            catchup=Catchup.ALL if catchup else Catchup.UNSPECIFIED,
        )
        return self._paddleflow.schedules.create(schedule).id

    @answer
    def list_schedule(
        self,
        user_filter: str | None = None,
        ppl_filter: str | None = None,
        ppl_version_filter: str | None = None,
        schedule_filter: str | None = None,
        name_filter: str | None = None,
        status_filter: str | None = None,
        marker: str | None = None,
        max_keys: int | None = None,
    ) -> ScheduleList:
        """Schedules, newest first; each filter may be a list with commas."""
        chosen: ScheduleFilter = {
            "owners": words(user_filter),
            "pipeline_ids": words(ppl_filter),
            "pipeline_versions": [version_number(word) for word in words(ppl_version_filter)],
            "names": words(name_filter),
            "states": [member(ScheduleState, word, "status_filter") for word in words(status_filter)],
        }
        page = self._paddleflow.schedules.page(int(max_keys or 0), marker or "", **chosen)
        wanted = words(schedule_filter)
        found = [ScheduleInfo.of(each) for each in page.items if not wanted or each.id in wanted]
        return {"scheduleList": found, "nextMarker": page.next_token or None}

    @answer
    def show_schedule(
        self,
        schedule_id: str,
        run_filter: str | None = None,
        status_filter: str | None = None,
        marker: str | None = None,
        max_keys: int | None = None,
    ) -> ScheduleShown:
        """A schedule and its runs."""
        schedule = self._paddleflow.schedules.get(schedule_id)
        page = self._paddleflow.runs.page(
            int(max_keys or 0),
            marker or "",
            schedule_id=schedule_id,
            ids=words(run_filter),
            states=[member(RunState, word, "status_filter") for word in words(status_filter)],
        )
        return {
            "scheduleInfo": ScheduleInfo.of(schedule),
            "runList": [RunInfo.of(each) for each in page.items],
            "nextMarker": page.next_token or None,
        }

    @answer
    def stop_schedule(self, schedule_id: str) -> None:
        """Ends a schedule; its runs go on."""
        self._paddleflow.schedules.stop(schedule_id)

    @answer
    def delete_schedule(self, schedule_id: str) -> None:
        self._paddleflow.schedules.delete(schedule_id)


def _count(field: str, told: int | str | None) -> int:
    text = str(told or 0)
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InvalidArgument.of(Violation(field, f"{text[:20]!r} is no whole number"))
    return int(text)
