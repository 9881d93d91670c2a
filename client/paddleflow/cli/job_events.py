"""``paddleflow job events``: what happened to a job."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from paddleflow.cli.completion import complete_known_job
from paddleflow.cli.finding import suggesting
from paddleflow.cli.job_tables import happening_table
from paddleflow.cli.parameters import LARGEST_COUNT
from paddleflow.cli.table import Form, as_text, as_yaml, cell_text
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.jobs import Happening


@click.command("events", cls=Verb)
@click.argument("id", metavar="JOBID", shell_complete=complete_known_job)
@click.option(
    "-m",
    "--maxsize",
    "--maxkeys",
    "maxsize",
    type=click.IntRange(1, LARGEST_COUNT),
    default=100,
    show_default=True,
    help="The most to list at once.",
)
@click.option(
    "-mk", "--marker", type=click.IntRange(min=0), default=0, help="Only what happened after the one of this number."
)
@click.option("-f", "--follow", "following", is_flag=True, help="Go on with what happens, until the job is over.")
@pass_invocation
def events(invocation: Invocation, id: str, maxsize: int, marker: int, following: bool) -> None:  # noqa: A002 -- the word of the contract
    """List what happened to a job and to its replicas, oldest first."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    with suggesting(paddleflow, id):
        if following:
            for happening in paddleflow.jobs.watch_happenings(id, after=marker):
                printer.line(_told(happening, printer.form))
            return
        page = paddleflow.jobs.happening_page(id, maxsize, after=marker)
    printer.list(happening_table(page.items), "event", page.next_token)


def _told(happening: Happening, form: Form) -> str:
    table = happening_table([happening])
    match form:
        case Form.JSON:
            return json.dumps(table.objects()[0], ensure_ascii=False)
        case Form.YAML:
            return as_yaml(table)
        case Form.TEXT:
            return as_text(table)
        case Form.TABLE:
            return _line(cell_text(cell) for cell in table.rows[0])


def _line(cells: Iterable[str]) -> str:
    number, time, attempt, state, what, task, message = cells
    return f"{number:>4}  {time}  attempt {attempt}  {state:<11}  {what:<12}  {task}  {message}".rstrip()
