"""``paddleflow job logs``: what the replicas of a job have written."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime

import click

from paddleflow.cli.completion import complete_known_job
from paddleflow.cli.finding import suggesting
from paddleflow.cli.log_lines import print_bytes, print_lines, print_objects
from paddleflow.cli.parameters import moment
from paddleflow.cli.table import Form
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.job_specs import Role
from paddleflow.models.jobs import JobState
from paddleflow.models.logs import LogChunk, LogOptions
from paddleflow.original import member
from paddleflow.original_logs import MOST_LINES

LARGEST = 2**31 - 1
WAITING = (JobState.INIT, JobState.PENDING)


@click.command("logs", cls=Verb)
@click.argument("id", metavar="JOBID", shell_complete=complete_known_job)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written, until the replicas are over.")
@click.option("--later", is_flag=True, help="With --follow: go on with later restarts and attempts.")
@click.option("--task", default="", help="Only this replica, or those of this role: worker/0, worker.")
@click.option("--attempt", type=click.IntRange(1, LARGEST), help="Of this attempt; else of the last.")
@click.option("--restart", type=click.IntRange(0, LARGEST), help="Of this restart in the attempt; else of the last.")
@click.option("--tail", type=click.IntRange(0, MOST_LINES), help="The last so many lines of each replica.")
@click.option("--head", type=click.IntRange(min=1), help="No more than so many lines of each replica.")
@click.option("--since", help="What was written since: 2h (ago), 2026-05-01T12:00:00. A few seconds more may come.")
@click.option("--until", help="What was written until then.")
@click.option("--grep", multiple=True, help="Only lines with this text, in which * is anything. Repeatable: or this.")
@click.option("-i", "--ignore-case", is_flag=True, help="With --grep: A is a.")
@pass_invocation
def logs(
    invocation: Invocation,
    id: str,  # noqa: A002 -- the word of the contract
    follow: bool,
    later: bool,
    task: str,
    attempt: int | None,
    restart: int | None,
    tail: int | None,
    head: int | None,
    since: str | None,
    until: str | None,
    grep: tuple[str, ...],
    ignore_case: bool,
) -> None:
    """Print what a job has written.

    Of several replicas each line begins with whose it is.
    """
    if later and not follow:
        raise click.UsageError("--later goes with --follow.")
    if tail is not None and since is not None:
        raise click.UsageError("A log begins either by --tail or by --since.")
    options: LogOptions = {"follow": follow, "later": later, "texts": grep, "ignore_case": ignore_case}
    options.update(_replica(task))
    if attempt is not None:
        options["attempt"] = attempt
    if restart is not None:
        options["restart"] = restart
    if tail is not None:
        options["tail_lines"] = tail
    if head is not None:
        options["max_lines"] = head
    if since is not None:
        options["since"] = moment("since", since, datetime.now(UTC))
    if until is not None:
        options["until"] = moment("until", until, datetime.now(UTC))
    print_log(invocation, id, options)


def print_log(invocation: Invocation, id_: str, options: LogOptions) -> None:
    """What was written, in the form that was asked for."""
    paddleflow = invocation.paddleflow()
    with suggesting(paddleflow, id_):
        job = paddleflow.jobs.get(id_)
        if job.state in WAITING and "attempt" not in options:
            click.echo(f"it is {job.state}, and has not begun; `paddleflow job explain {id_}` says why", err=True)
        several = "index" not in options and bool(job.spec.members)
        _print(invocation.printer.form, paddleflow.logs.read(id_, **options), several=several)


def _print(form: Form, chunks: Iterable[LogChunk], *, several: bool) -> None:
    output = sys.stdout.buffer
    if form is Form.JSON:
        print_objects(chunks, output)
    elif several:
        print_lines(chunks, output)
    else:
        print_bytes(chunks, output)


def _replica(task: str) -> LogOptions:
    """What `worker/0` or `worker` means."""
    if not task:
        return {}
    role, slash, index = task.partition("/")
    if slash and not (index.isascii() and index.isdecimal() and int(index) <= LARGEST):
        raise click.UsageError(f"{task!r} names no replica; write --task worker/0, or --task worker.")
    chosen = member(Role, role, "task")
    return {"role": chosen, "index": int(index)} if slash else {"role": chosen}
