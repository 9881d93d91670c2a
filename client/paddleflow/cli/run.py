"""``paddleflow run``."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from paddleflow.cli.completion import (
    complete_filesystem,
    complete_pipeline,
    complete_run,
    complete_schedule,
    complete_user,
)
from paddleflow.cli.output import Printer
from paddleflow.cli.parameters import paging, states, words
from paddleflow.cli.run_cache import deletecache, listartifact, listcache, showcache
from paddleflow.cli.run_change import approve, delete, refuse, retry, stop
from paddleflow.cli.run_create import create, plan, validate
from paddleflow.cli.run_drawing import Style, drawing, headline
from paddleflow.cli.run_events import events
from paddleflow.cli.run_explain import explain
from paddleflow.cli.run_finding import suggesting_run
from paddleflow.cli.run_logs import logs
from paddleflow.cli.run_options import RUN_GROUPS
from paddleflow.cli.run_tables import flat, run_table, settings, summary, whole
from paddleflow.cli.run_wait import wait
from paddleflow.cli.run_watch import print_changes, watch
from paddleflow.cli.table import Form
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.models.runs import RunFilter, RunState


@click.group(cls=Noun)
def run() -> None:
    """Run pipelines, and see what becomes of them."""


@run.command("list")
@paging
@click.option("-f", "--fsname", default="", shell_complete=complete_filesystem, help="Only those on this filesystem.")
@click.option("-u", "--username", default="", shell_complete=complete_user, help="Only those of this user.")
@click.option("-r", "--runid", default="", help="Only these: run-000001,run-000002.")
@click.option("-n", "--name", default="", help="Only those of this name.")
@click.option("-s", "--status", default="", help="Only those in these states: failed,running; active, final.")
@click.option("--schedule", default="", shell_complete=complete_schedule, help="Only those that this schedule made.")
@click.option("--pipeline", default="", shell_complete=complete_pipeline, help="Only those of this pipeline.")
@click.option("-w", "--watch", "watching", is_flag=True, help="Print what changes, until interrupted.")
@pass_invocation
def list_runs(
    invocation: Invocation,
    maxsize: int,
    marker: str,
    fsname: str,
    username: str,
    runid: str,
    name: str,
    status: str,
    schedule: str,
    pipeline: str,
    watching: bool,
) -> None:
    """List runs, the newest first: your own; for root all."""
    chosen: RunFilter = {
        "filesystems": words(fsname),
        "owners": words(username),
        "ids": words(runid),
        "names": words(name),
        "states": states(RunState, "status", status, RUN_GROUPS),
        "schedule_id": schedule,
        "pipeline_id": pipeline,
    }
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    if watching:
        print_changes(paddleflow.runs.watch(), chosen, printer)
        return
    page = paddleflow.runs.page(maxsize, marker, **chosen)
    printer.list(run_table(page.items), "run", page.next_token)


@run.command("show")
@click.argument("id", metavar="RUNID", shell_complete=complete_run)
@pass_invocation
def show(invocation: Invocation, id: str) -> None:  # noqa: A002 -- the word of the contract
    """Show a run, and draw its graph with where each node stands. Other forms tell all there is of each node."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    with suggesting_run(paddleflow, id):
        found = paddleflow.runs.get(id)
        nodes = list(paddleflow.runs.nodes(id))
    if printer.form is not Form.TABLE:
        for table in whole(found, nodes):
            printer.table(table if printer.form.structured else flat(table))
        return
    printer.table(summary(found))
    printer.table(flat(settings(found)))
    printer.line(headline(found))
    for line in drawing(nodes, datetime.now(UTC), style_of(printer)):
        printer.line(line)


def style_of(printer: Printer) -> Style:
    return Style(drawing=printer.drawing, colours=printer.colours)


for command in (approve, create, delete, deletecache, events, explain, listartifact, listcache, logs):
    run.add_command(command)
for command in (plan, refuse, retry, showcache, stop, validate, wait, watch):
    run.add_command(command)
