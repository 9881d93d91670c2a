"""Schedules as tables with the headings of the original."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from paddleflow.cli.table import Cell, Table
from paddleflow.models.schedules import BackfilledTick, Schedule
from paddleflow.original import original_time
from paddleflow.original_schedules import fs_config, options_of

SCHEDULES = [
    "schedule id",
    "name",
    "desc",
    "pipeline id",
    "pipeline version id",
    "crontab",
    "username",
    "fs config",
    "options",
    "message",
    "status",
]
TIMES = ["schedule id", "start time", "end time", "create time", "update time", "next run time"]


def schedule_table(schedules: Iterable[Schedule]) -> Table:
    return Table(SCHEDULES, [_schedule(each) for each in schedules])


def time_table(schedules: Iterable[Schedule]) -> Table:
    return Table(TIMES, [[each.id, *map(original_time, _times(each))] for each in schedules])


def tick_table(ticks: Iterable[BackfilledTick]) -> Table:
    return Table(["time", "run id", "new"], [[original_time(each.time), each.run_id, each.new] for each in ticks])


def _schedule(schedule: Schedule) -> list[Cell]:
    return [
        schedule.id,
        schedule.name,
        schedule.description,
        schedule.pipeline_id,
        str(schedule.pipeline_version),
        schedule.crontab,
        schedule.owner,
        dict(fs_config(schedule)),
        options_of(schedule),
        schedule.message,
        str(schedule.state),
    ]


def _times(schedule: Schedule) -> tuple[datetime | None, ...]:
    return schedule.start_time, schedule.end_time, schedule.create_time, schedule.update_time, schedule.next_time
