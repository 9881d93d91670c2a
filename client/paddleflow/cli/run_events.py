"""``paddleflow run events``: what happened in a run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice

import click

from paddleflow.cli.completion import complete_run
from paddleflow.cli.parameters import LARGEST_COUNT
from paddleflow.cli.run_finding import suggesting_run
from paddleflow.cli.run_tables import happening_table
from paddleflow.cli.table import Form, as_text, as_yaml, cell_text
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.runs import RunHappening


@click.command("events", cls=Verb)
@click.argument("id", metavar="RUNID", shell_complete=complete_run)
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
@click.option("-f", "--follow", "following", is_flag=True, help="Go on with what happens, until the run is over.")
@pass_invocation
def events(invocation: Invocation, id: str, maxsize: int, marker: int, following: bool) -> None:  # noqa: A002 -- the word of the contract
    """List what happened in a run, oldest first."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    with suggesting_run(paddleflow, id):
        told = paddleflow.runs.happenings(id, after=marker, follow=following)
        if following:
            for happening in told:
                printer.line(event_line(happening, printer.form))
            return
        found = list(islice(told, maxsize + 1))
    token = str(found[maxsize - 1].number) if len(found) > maxsize else ""
    printer.list(happening_table(found[:maxsize]), "event", token)


def event_line(happening: RunHappening, form: Form) -> str:
    """What happened, in one line for people, for scripts or for programs."""
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
    number, time, run_state, node, node_state, what, _, job, message = cells
    where = f"{node}  {node_state}" if node else f"run  {run_state}"
    return f"{number:>4}  {time}  {what:<12}  {where}  {job}  {message}".rstrip()
