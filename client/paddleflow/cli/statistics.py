"""``paddleflow statistics``."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta

import click

from paddleflow.cli.completion import complete_known_job, complete_queue, complete_user
from paddleflow.cli.finding import suggesting
from paddleflow.cli.output import Printer
from paddleflow.cli.parameters import duration, epoch_moment, paging
from paddleflow.cli.statistics_tables import card_time_table, series_lines, series_table, statistics_table
from paddleflow.cli.table import Form
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.models.statistics import CardTimeFilter, CardTimeGroup, TaskSeries, UsageOptions

ALL_ATTEMPTS = -1
NOTHING = "nothing is known of what it used: it has not begun, did not run at that time, or its logs are gone"
WHEN = "2h (ago), 2026-05-01T12:00:00, 1777593600"


@click.group(cls=Noun)
def statistics() -> None:
    """See what jobs used of their machines, and for how long they held what of their queues."""


@statistics.command("job", failing="get job statistics")
@click.argument("id", metavar="JOBID", shell_complete=complete_known_job)
@click.option("-d", "--detail", is_flag=True, help="Step by step, of each replica.")
@click.option("-s", "--start", help=f"Nothing before: {WHEN}. Else from the beginning.")
@click.option("-e", "--end", help="Nothing after; else until the end, or now.")
@click.option("-st", "--step", help="With --detail: how long each step is, 60 or 1m. Else as fine as 1000 steps are.")
@click.option("--attempt", type=click.IntRange(min=1), help="Of this attempt; else of the last.")
@click.option("--all-attempts", is_flag=True, help="Of all attempts.")
@pass_invocation
def job(
    invocation: Invocation,
    id: str,  # noqa: A002 -- the word of the contract
    detail: bool,
    start: str | None,
    end: str | None,
    step: str | None,
    attempt: int | None,
    all_attempts: bool,
) -> None:
    """Show what a job uses, or has used: processor, memory, disks and accelerators.

    Of all its replicas together, and of each. What is asked for is shown beside it. With -o json: cores, bytes, and of
    a total core-seconds and bytes.
    """
    if step is not None and not detail:
        raise click.UsageError("--step goes with --detail.")
    options: UsageOptions = {"attempt": ALL_ATTEMPTS if all_attempts else attempt or 0}
    now = datetime.now(UTC)
    if start is not None:
        options["start"] = epoch_moment("start", start, now)
    if end is not None:
        options["end"] = epoch_moment("end", end, now)
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    with suggesting(paddleflow, id):
        if detail:
            _print_series(list(paddleflow.statistics.series(id, _step(step), **options)), printer)
            return
        found = paddleflow.statistics.job(id, **options)
    table = statistics_table(found, exact=printer.form.structured)
    if not table.rows and not printer.form.structured:
        click.echo(NOTHING, err=True)
        return
    printer.table(table)
    for note in found.notes:
        click.echo(note, err=True)


@statistics.command("card-time", failing="get card time")
@click.option(
    "-q",
    "--queue_names",
    "--queuenames",
    "queues",
    default="",
    shell_complete=complete_queue,
    help="Only jobs of these queues: a,b.",
)
@click.option("-u", "--username", "users", default="", shell_complete=complete_user, help="Only those of these users.")
@click.option("-s", "--start", help=f"What was held before does not count: {WHEN}. Else 30 days ago.")
@click.option("-e", "--end", help="What is held from then on does not count; else now.")
@click.option(
    "--by",
    type=click.Choice([group.value for group in CardTimeGroup if group]),
    default=CardTimeGroup.QUEUE.value,
    show_default=True,
    help="What to tell together.",
)
@paging
@pass_invocation
def card_time(
    invocation: Invocation,
    queues: str,
    users: str,
    start: str | None,
    end: str | None,
    by: str,
    maxsize: int,
    marker: str,
) -> None:
    """Show for how long jobs held cards, cores and memory while they ran, those that are forgotten among them.

    What a job held counts whether it used it or not; one that runs counts until now. You see your own jobs, and those
    in queues that are granted to you; root sees all.
    """
    chosen: CardTimeFilter = {"queues": _names(queues), "users": _names(users)}
    now, group = datetime.now(UTC), CardTimeGroup(by)
    if start is not None:
        chosen["start"] = epoch_moment("start", start, now)
    if end is not None:
        chosen["end"] = epoch_moment("end", end, now)
    page = invocation.paddleflow().statistics.card_time_page(group, maxsize, marker, **chosen)
    printer = invocation.printer
    table = card_time_table(page.items, group, whole=printer.form.structured)
    printer.list(table, "card time", page.next_token)


def _print_series(tasks: list[TaskSeries], printer: Printer) -> None:
    if printer.form is Form.TABLE and printer.terminal:
        columns = shutil.get_terminal_size().columns
        for line in series_lines(tasks, drawing=printer.drawing, columns=columns):
            printer.line(line)
    else:
        printer.table(series_table(tasks))
    if any(task.coarser for task in tasks):
        click.echo("the steps are longer than asked for: there are at most 1000", err=True)
    if not any(task.values for task in tasks):
        click.echo(NOTHING, err=True)


def _step(text: str | None) -> timedelta | None:
    if text is None:
        return None
    return timedelta(seconds=int(text)) if text.isdecimal() and len(text) < 10 else duration("step", text)


def _names(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
