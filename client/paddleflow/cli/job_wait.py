"""Waits for jobs, and tells what becomes of them meanwhile."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import click

from paddleflow.cli.failure import INTERRUPTED, REFUSED
from paddleflow.cli.job_tables import whole_table
from paddleflow.cli.output import Printer
from paddleflow.cli.table import Form, Table, as_text, as_yaml
from paddleflow.models.jobs import Job, JobFilter, JobState, Task, TaskState
from paddleflow.models.watches import Change, ChangeKind, Reset, WatchItem

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

COLOURS = {
    JobState.RUNNING: "green",
    JobState.SUCCEEDED: "green",
    JobState.FAILED: "red",
    JobState.TERMINATED: "yellow",
    JobState.PREEMPTING: "yellow",
    JobState.PREEMPTED: "yellow",
}
LEFT = "left"
"""The event of a job that is no longer one of those chosen."""


def wait_for(paddleflow: PaddleFlow, id_: str, printer: Printer) -> None:
    """Waits until a job is over, and ends the command with what the job ended with."""
    ctx = click.get_current_context()
    last: Job | None = None
    try:
        with _progress() as tell:
            for last in paddleflow.jobs.follow(id_):
                tell(_words(last))
    except KeyboardInterrupt:
        click.echo(f"job[{id_}] goes on; `paddleflow job stop {id_}` ends it", err=True)
        ctx.exit(INTERRUPTED)
    if last is not None:
        printer.success(_words(last), [whole_table([last])])
        ctx.exit(_status(paddleflow, last))


def exit_status(job: Job, tasks: Iterable[Task]) -> int:
    """What a command ends with that stands for a job which is over.

    0 if it ended well, else the exit status of the replica that failed first, else 1.
    """
    if job.state is JobState.SUCCEEDED:
        return 0
    failed = [task for task in tasks if task.state is TaskState.FAILED and task.exit_status]
    failed.sort(key=lambda task: task.finish_time.timestamp() if task.finish_time else 0.0)
    return (failed[0].exit_status or REFUSED) if failed else REFUSED


def print_changes(items: Iterable[WatchItem[Job]], chosen: Callable[[Job], bool], printer: Printer) -> None:
    """Prints the changes of the chosen jobs until the watch ends."""
    known: set[str] = set()
    for item in items:
        match item:
            case Reset():
                known.clear()
                click.echo("the server told to start over: all jobs follow anew", err=True)
            case Change(ChangeKind.DELETED as kind, job) if job.id in known:
                known.discard(job.id)
                printer.line(line_of(str(kind), job, printer.form))
            case Change(kind, job) if chosen(job):
                known.add(job.id)
                printer.line(line_of(str(kind), job, printer.form))
            case Change(_, job) if job.id in known:
                known.discard(job.id)
                printer.line(line_of(LEFT, job, printer.form))


def print_until_over(jobs: Iterable[Job], printer: Printer) -> None:
    """Prints a job whenever it has changed."""
    for job in jobs:
        printer.line(line_of(str(ChangeKind.UPDATED), job, printer.form))


def matches(job: Job, chosen: JobFilter) -> bool:
    """True if the server would list the job under this filter, whatever its times."""
    states = chosen.get("states", ())
    return (
        (not states or job.state in states)
        and chosen.get("queue", "") in ("", job.queue)
        and chosen.get("owner", "") in ("", job.owner)
        and job.spec.name.startswith(chosen.get("name_prefix", ""))
        and chosen.get("labels", {}).items() <= job.spec.labels.items()
    )


def line_of(event: str, job: Job, form: Form) -> str:
    """What happened to a job, in one line for people, for scripts or for programs."""
    match form:
        case Form.JSON:
            return json.dumps({"event": event, **whole_table([job]).objects()[0]}, ensure_ascii=False)
        case Form.YAML:
            [row] = whole_table([job]).objects()
            return as_yaml(Table(["event", *row], [[event, *row.values()]]))
        case Form.TEXT:
            words = [event, job.id, job.spec.name, job.queue, str(job.state), job.message]
            return as_text(Table(["event", "job id", "job name", "queue", "status", "message"], [words]))
        case Form.TABLE:
            clock = datetime.now().astimezone().strftime("%H:%M:%S")
            word = event if event in (LEFT, ChangeKind.DELETED) else str(job.state)
            state = click.style(f"{word:<11}", fg=COLOURS.get(job.state))
            return f"{clock}  {state}  {job.id}  {_name(job)}queue {job.queue}  {job.message}".rstrip()


def _name(job: Job) -> str:
    return f"{job.spec.name}  " if job.spec.name not in ("", job.id) else ""


def _words(job: Job) -> str:
    why = f": {job.message}" if job.message else ""
    return f"job[{job.id}] {job.state}{why}"


def _status(paddleflow: PaddleFlow, job: Job) -> int:
    tasks: Sequence[Task] = () if job.state is not JobState.FAILED else list(paddleflow.jobs.tasks(job.id))
    return exit_status(job, tasks)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Says how far it is: on a terminal in one line that moves, else in a line for each word."""
    if not sys.stderr.isatty():
        yield lambda words: click.echo(words, err=True)
        return
    from rich.console import Console  # noqa: PLC0415 -- loads rich
    from rich.markup import escape  # noqa: PLC0415 -- as above

    with Console(stderr=True).status("") as status:
        yield lambda words: status.update(escape(words))
