"""``paddleflow job``."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from paddleflow.cli.completion import complete_known_job, complete_queue, complete_user
from paddleflow.cli.finding import suggesting
from paddleflow.cli.job_change import create, delete, job_document, stop, update
from paddleflow.cli.job_events import events
from paddleflow.cli.job_explain import explain
from paddleflow.cli.job_logs import logs
from paddleflow.cli.job_shards import shards
from paddleflow.cli.job_submit import submit
from paddleflow.cli.job_tables import DETAILS, field_names, job_table, task_table, whole_table
from paddleflow.cli.job_top import top
from paddleflow.cli.job_wait import wait
from paddleflow.cli.job_watch import matches, print_changes, print_until_over
from paddleflow.cli.parameters import epoch_moment, paging
from paddleflow.cli.table import Form
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.models.jobs import JobFilter, JobState
from paddleflow.original import member
from paddleflow.original_jobs import RUNTIMES
from paddleflow.quantity import parse_pairs

ALL_ATTEMPTS = -1
JOB = click.argument("id", metavar="JOBID", shell_complete=complete_known_job)
FIELDS = click.option("-fl", "--fieldlist", help="Only these fields: id,status,message.")


@click.group(cls=Noun)
def job() -> None:
    """Run jobs, and see what becomes of them."""


@job.command("list")
@paging
@click.option("-s", "--status", multiple=True, help="Only those in this state: running,pending. Repeatable.")
@click.option("-t", "--timestamp", help="Only those that changed at or after this: 2h (ago), 2026-05-01, 1777593600.")
@click.option("-st", "--starttime", help="Only those that began to run at or after this.")
@click.option("-q", "--queue", default="", shell_complete=complete_queue, help="Only those of this queue.")
@click.option("-l", "--labels", default="", help="Only those with these labels: a=1,b=2.")
@click.option("-u", "--username", default="", shell_complete=complete_user, help="Only those of this user.")
@click.option("--prefix", default="", help="Only those whose names begin so.")
@FIELDS
@click.option("-w", "--watch", "watching", is_flag=True, help="Print what changes, until interrupted.")
@pass_invocation
def list_jobs(
    invocation: Invocation,
    maxsize: int,
    marker: str,
    status: tuple[str, ...],
    timestamp: str | None,
    starttime: str | None,
    queue: str,
    labels: str,
    username: str,
    prefix: str,
    fieldlist: str | None,
    watching: bool,
) -> None:
    """List jobs, the newest first: your own, and those of the queues that are granted to you; for root all."""
    fields = field_names(fieldlist)
    chosen: JobFilter = {
        "states": [member(JobState, word.strip(), "status") for text in status for word in text.split(",")],
        "queue": queue,
        "labels": parse_pairs("labels", labels),
        "owner": username,
        "name_prefix": prefix,
    }
    if timestamp:
        chosen["updated_since"] = epoch_moment("timestamp", timestamp, datetime.now(UTC))
    if starttime:
        chosen["started_since"] = epoch_moment("starttime", starttime, datetime.now(UTC))
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    if watching:
        print_changes(paddleflow.jobs.watch(queue=queue), lambda each: matches(each, chosen), printer)
        return
    page = paddleflow.jobs.page(maxsize, marker, **chosen)
    tasks = {each.id: list(paddleflow.jobs.tasks(each.id)) for each in page.items} if RUNTIMES & {*fields} else {}
    printer.list(job_table(page.items, fields, tasks), "job", page.next_token)


@job.command("show")
@JOB
@FIELDS
@click.option("-w", "--watch", "watching", is_flag=True, help="Print what changes, until it is over.")
@pass_invocation
def show(invocation: Invocation, id: str, fieldlist: str | None, watching: bool) -> None:  # noqa: A002 -- the word of the contract
    """Show a job. With -o yaml: as a document that `job create` takes again."""
    paddleflow, printer, fields = invocation.paddleflow(), invocation.printer, field_names(fieldlist)
    with suggesting(paddleflow, id):
        found = paddleflow.jobs.get(id)
    if watching:
        print_until_over(paddleflow.jobs.follow(id), printer)
    elif printer.form is Form.YAML and not fieldlist:
        printer.line(job_document(found))
    elif printer.form is Form.JSON and not fieldlist:
        printer.table(whole_table([found]))
    else:
        tasks = list(paddleflow.jobs.tasks(id)) if RUNTIMES & {*fields} else []
        printer.table(job_table([found], fields, {id: tasks}))
        if not fieldlist and printer.form is Form.TABLE:
            printer.details("job info", job_table([found], DETAILS))


@job.command("tasks")
@JOB
@click.option("--attempt", type=click.IntRange(min=1), help="The replicas of this attempt; else of the last.")
@click.option("--all-attempts", is_flag=True, help="The replicas of all attempts.")
@paging
@pass_invocation
def tasks(
    invocation: Invocation,
    id: str,  # noqa: A002 -- the word of the contract
    attempt: int | None,
    all_attempts: bool,
    maxsize: int,
    marker: str,
) -> None:
    """List the replicas of a job: where they run, and how they ended."""
    paddleflow = invocation.paddleflow()
    wanted = ALL_ATTEMPTS if all_attempts else attempt or 0
    with suggesting(paddleflow, id):
        page = paddleflow.jobs.task_page(id, maxsize, marker, attempt=wanted)
    invocation.printer.list(task_table(page.items), "task", page.next_token)


for command in (create, delete, events, explain, logs, shards, stop, submit, top, update, wait):
    job.add_command(command)
