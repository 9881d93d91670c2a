"""``paddleflow job top``: what runs and what waits, now and as it changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from paddleflow.cli.completion import complete_queue, complete_user
from paddleflow.cli.job_watch import COLOURS
from paddleflow.cli.live import live, repeat, show_lines
from paddleflow.cli.output import Printer
from paddleflow.cli.parameters import lasting
from paddleflow.cli.table import Cell, Form, Table, cell_text
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.jobs import Job, JobState

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

UNFINISHED = [state for state in JobState if state and not state.over]
HEADINGS = ["job id", "job name", "user", "queue", "status", "replicas", "for", "attempt", "message"]
MOST = 1000
"""Jobs that are looked at."""


@click.command("top", cls=Verb)
@click.option("-q", "--queue", default="", shell_complete=complete_queue, help="Only jobs of this queue.")
@click.option("-u", "--username", default="", shell_complete=complete_user, help="Only jobs of this user.")
@click.option("-m", "--maxsize", type=click.IntRange(1, MOST), default=40, show_default=True, help="The most to show.")
@live
@pass_invocation
def top(invocation: Invocation, queue: str, username: str, maxsize: int, watching: bool, every: float) -> None:
    """Show the jobs that are not over: those that run first, then those that wait, each the newest first.

    Of each: how many of its replicas run, and how long it has run or waited.
    """
    paddleflow, printer = invocation.paddleflow(), invocation.printer

    def look() -> None:
        _show(_unfinished(paddleflow, queue, username), maxsize, printer, watching=watching)

    repeat(look, watching, every)


def _unfinished(paddleflow: PaddleFlow, queue: str, user: str) -> list[Job]:
    found = paddleflow.jobs.page(MOST, states=UNFINISHED, queue=queue, owner=user).items
    return sorted(found, key=lambda job: job.state is not JobState.RUNNING)


def _show(jobs: Sequence[Job], most: int, printer: Printer, *, watching: bool) -> None:
    now = datetime.now(UTC)
    if printer.form is not Form.TABLE:
        printer.table(Table(HEADINGS, [_row(job, now) for job in jobs[:most]]))
        return
    show_lines(_lines(jobs, most, now), printer, watching=watching)


def _lines(jobs: Sequence[Job], most: int, now: datetime) -> Iterator[str]:
    counts = Counter(job.state for job in jobs)
    yield "  ".join(f"{state} {counts[state]}" for state in UNFINISHED if counts[state]) or "no job runs or waits"
    shown = jobs[:most]
    rows = [HEADINGS, *([cell_text(cell) for cell in _row(job, now)] for job in shown)] if jobs else []
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))] if rows else []
    for row, job in zip(rows, [None, *shown], strict=False):
        line = "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()
        yield click.style(line, bold=True) if job is None else click.style(line, fg=COLOURS.get(job.state))
    if len(jobs) > most:
        yield f"and {len(jobs) - most} more"


def _row(job: Job, now: datetime) -> list[Cell]:
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
        job.message,
    ]
