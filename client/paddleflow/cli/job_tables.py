"""Jobs, their replicas, and what happened to them, as tables."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from paddleflow.cli.table import Cell, Table
from paddleflow.models.jobs import Happening, Job, Task
from paddleflow.original import original_time
from paddleflow.original_jobs import FIELDS, original_job
from paddleflow.problems import InvalidArgument, Violation

USUAL = ("id", "name", "queue", "status", "acceptTime", "startTime", "finishTime")
"""The fields that the original shows if none are asked for."""
DETAILS = (
    *("user", "type", "message", "notes", "priority", "cluster", "attempt", "retries", "replicas", "resources"),
    *("notBefore", "framework", "members", "flavour", "limitFlavour", "fileSystem", "extraFileSystems", "image"),
    *("env", "command", "args", "port", "labels", "annotations", "extensionTemplate", "retry", "limits", "etag"),
)
"""All others, but for the replicas, which `job tasks` shows."""
ALIASES: Mapping[str, str] = {"fs": "fileSystem", "extraFS": "extraFileSystems", "owner": "user", "state": "status"}
TASK_HEADINGS = [
    "attempt",
    "role",
    "index",
    "restarts",
    "status",
    "exit",
    "node",
    "accelerators",
    "start time",
    "finish time",
    "message",
]
HAPPENING_HEADINGS = ["number", "time", "attempt", "status", "event", "task", "message"]


def field_names(text: str | None) -> list[str]:
    """The fields that a list with commas names; the usual ones if there is none."""
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    return [_field(word) for word in words] or list(USUAL)


def job_table(jobs: Iterable[Job], fields: Sequence[str], tasks: Mapping[str, Sequence[Task]] | None = None) -> Table:
    """These fields of jobs; with their replicas by id, where a field tells of them."""
    return Table(
        [FIELDS[field] for field in fields], [_row(job, fields, (tasks or {}).get(job.id, ())) for job in jobs]
    )


def whole_table(jobs: Iterable[Job]) -> Table:
    """All there is to say of jobs."""
    return job_table(jobs, [*USUAL, *DETAILS])


def task_table(tasks: Iterable[Task]) -> Table:
    return Table(TASK_HEADINGS, [_task(task) for task in tasks])


def happening_table(happenings: Iterable[Happening]) -> Table:
    return Table(HAPPENING_HEADINGS, [_happening(each) for each in happenings])


def ending(task: Task) -> str:
    """How a replica ended: its exit status, or the signal; empty while it runs."""
    if task.signal:
        return f"signal {task.signal}"
    return "" if task.exit_status is None else str(task.exit_status)


def _field(word: str) -> str:
    name = ALIASES.get(word, word)
    if name in FIELDS:
        return name
    near = difflib.get_close_matches(word, FIELDS, n=1)
    meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(FIELDS)}"
    raise InvalidArgument.of(Violation("fieldlist", f"{word!r} is no field of a job; {meant}"))


def _row(job: Job, fields: Sequence[str], tasks: Sequence[Task]) -> list[Cell]:
    told = original_job(job, tasks)
    return [cast("Cell", told[field]) for field in fields]


def _task(task: Task) -> list[Cell]:
    return [
        task.attempt,
        str(task.role),
        task.index,
        task.restarts,
        str(task.state),
        ending(task),
        task.node,
        [str(each) for each in task.accelerators],
        original_time(task.start_time),
        original_time(task.finish_time),
        task.message,
    ]


def _happening(happening: Happening) -> list[Cell]:
    return [
        happening.number,
        original_time(happening.time),
        happening.attempt,
        str(happening.state),
        happening.what,
        f"{happening.role}/{happening.index}" if happening.role else "",
        happening.message,
    ]
