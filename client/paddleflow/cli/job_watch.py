"""Prints what becomes of jobs, change by change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime

import click

from paddleflow.cli.job_tables import whole_table
from paddleflow.cli.output import Printer
from paddleflow.cli.table import Form, Table, as_text, as_yaml
from paddleflow.models.jobs import Job, JobFilter, JobState
from paddleflow.models.watches import Change, ChangeKind, Reset, WatchItem

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


def print_changes(items: Iterable[WatchItem[Job]], chosen: Callable[[Job], bool], printer: Printer) -> None:
    """Prints the changes of the chosen jobs until the watch ends; people are not told the same twice."""
    known: dict[str, tuple[str, ...]] = {}
    for item in items:
        match item:
            case Reset():
                known.clear()
                click.echo("the server told to start over: all jobs follow anew", err=True)
            case Change(ChangeKind.DELETED as kind, job) if job.id in known:
                del known[job.id]
                printer.line(line_of(str(kind), job, printer.form))
            case Change(kind, job) if chosen(job):
                before, known[job.id] = known.get(job.id), _seen(job)
                if printer.form is not Form.TABLE or known[job.id] != before:
                    printer.line(line_of(str(kind), job, printer.form))
            case Change(_, job) if job.id in known:
                del known[job.id]
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


def _seen(job: Job) -> tuple[str, ...]:
    """What people see of a job when it changes."""
    return str(job.state), _name(job), job.queue, job.message


def _name(job: Job) -> str:
    return f"{job.spec.name}  " if job.spec.name not in ("", job.id) else ""
