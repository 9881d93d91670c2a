"""``paddleflow job top``: what runs and what waits, now and as it changes."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from paddleflow.cli.completion import complete_queue, complete_user
from paddleflow.cli.job_watch import COLOURS
from paddleflow.cli.live import live, repeat, show_lines
from paddleflow.cli.output import Printer
from paddleflow.cli.parameters import lasting
from paddleflow.cli.statistics_tables import in_use
from paddleflow.cli.table import Cell, Form, Table, cell_text
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.jobs import Job, JobState
from paddleflow.models.statistics import Metric
from paddleflow.problems import JobNotFound

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

UNFINISHED = [state for state in JobState if state and not state.over]
HEADINGS = ["job id", "job name", "user", "queue", "status", "replicas", "for", "attempt", "message"]
USED = ["cores", "memory"]
RECENT = timedelta(minutes=2)
"""Over which the use of a job is told: twice as long as between two looks at a replica that is old."""
MOST = 1000
"""Jobs that are looked at."""


@click.command("top", cls=Verb)
@click.option("-q", "--queue", default="", shell_complete=complete_queue, help="Only jobs of this queue.")
@click.option("-u", "--username", default="", shell_complete=complete_user, help="Only jobs of this user.")
@click.option("-m", "--maxsize", type=click.IntRange(1, MOST), default=40, show_default=True, help="The most to show.")
@click.option("--usage", is_flag=True, help="Also what they used in the last two minutes, of what was asked for.")
@live
@pass_invocation
def top(
    invocation: Invocation, queue: str, username: str, maxsize: int, usage: bool, watching: bool, every: float
) -> None:
    """Show the jobs that are not over: those that run first, then those that wait, each the newest first.

    Of each: how many of its replicas run, and how long it has run or waited.
    """
    paddleflow, printer = invocation.paddleflow(), invocation.printer

    def look() -> None:
        jobs = _unfinished(paddleflow, queue, username)
        used = {job.id: _used(paddleflow, job) for job in jobs[:maxsize]} if usage else {}
        _show(jobs, maxsize, used, printer, watching=watching)

    repeat(look, watching, every)


def _unfinished(paddleflow: PaddleFlow, queue: str, user: str) -> list[Job]:
    found = paddleflow.jobs.page(MOST, states=UNFINISHED, queue=queue, owner=user).items
    return sorted(found, key=lambda job: job.state is not JobState.RUNNING)


def _used(paddleflow: PaddleFlow, job: Job) -> list[Cell]:
    """What a job used of late: cores and memory."""
    if job.state is not JobState.RUNNING:
        return ["", ""]
    with suppress(JobNotFound):
        metrics = paddleflow.statistics.job(job.id, start=datetime.now(UTC) - RECENT).metrics
        return [in_use(metric, metrics.get(metric)) for metric in (Metric.CPU, Metric.MEMORY)]
    return ["", ""]


def _show(
    jobs: Sequence[Job], most: int, used: Mapping[str, Sequence[Cell]], printer: Printer, *, watching: bool
) -> None:
    now = datetime.now(UTC)
    headings = [*HEADINGS[:-1], *(USED if used else []), HEADINGS[-1]]
    rows = [_row(job, now, used.get(job.id, ())) for job in jobs[:most]]
    if printer.form is not Form.TABLE:
        printer.table(Table(headings, rows))
        return
    # Of what is looked at again and again a row is a line; else the whole message is told.
    columns = shutil.get_terminal_size().columns if watching and printer.terminal else None
    show_lines(_lines(jobs, [headings, *rows] if jobs else [], columns), printer, watching=watching)


def _lines(jobs: Sequence[Job], table: Sequence[Sequence[Cell]], columns: int | None) -> Iterator[str]:
    counts = Counter(job.state for job in jobs)
    yield "  ".join(f"{state} {counts[state]}" for state in UNFINISHED if counts[state]) or "no job runs or waits"
    rows = [[cell_text(cell) for cell in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, job in zip(rows, [None, *jobs], strict=False):
        line = "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()[:columns]
        yield click.style(line, bold=True) if job is None else click.style(line, fg=COLOURS.get(job.state))
    if (more := len(jobs) + 1 - len(rows)) > 0 and rows:
        yield f"and {more} more"


def _row(job: Job, now: datetime, used: Sequence[Cell]) -> list[Cell]:
    running = job.state is JobState.RUNNING
    since = job.start_time if running else job.accept_time
    return [
        job.id,
        job.spec.name if job.spec.name != job.id else "",
        job.owner,
        job.queue,
        str(job.state),
        f"{sum(role.running for role in job.roles)}/{sum(role.replicas for role in job.roles)}",
        lasting(now - since) if since and since < now else "0s",
        job.attempt,
        *used,
        job.message,
    ]
