"""``paddleflow queue``: workloads, why they wait, and what was decided about them."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from paddleflow.cli.completion import complete_job, complete_queue, complete_user
from paddleflow.cli.output import Printer
from paddleflow.cli.parameters import moment, paging
from paddleflow.cli.table import Form
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.cli.workload_tables import (
    decision_table,
    explanation_table,
    facts,
    headline,
    plain_facts,
    workload_list,
)
from paddleflow.models.admission import DecisionFilter, DecisionKind, Explanation
from paddleflow.models.workloads import WorkloadKey, WorkloadState

_STATES = [str(each) for each in WorkloadState if each]
_KINDS = [str(each) for each in DecisionKind if each]


@click.command("workloads", cls=Verb)
@click.argument("queuename", shell_complete=complete_queue)
@paging
@click.option("--state", multiple=True, type=click.Choice(_STATES), help="Only those in this state; may be repeated.")
@click.option("-u", "--username", default="", shell_complete=complete_user, help="Only those of this user.")
@pass_invocation
def workloads(
    invocation: Invocation, queuename: str, maxsize: int, marker: str, state: tuple[str, ...], username: str
) -> None:
    """List the workloads of a queue: those that have their resources, then those that wait, each in order.

    Those that are over are listed with --state released, newest first.
    """
    page = invocation.paddleflow().workloads.page(
        queuename, maxsize, marker, states=[WorkloadState(each) for each in state], user=username
    )
    invocation.printer.list(workload_list(page.items), "workload", page.next_token)


@click.command("explain", cls=Verb)
@click.argument("job", shell_complete=complete_job)
@click.option("--all-attempts", is_flag=True, help="Tell what was decided about all attempts.")
@pass_invocation
def explain(invocation: Invocation, job: str, all_attempts: bool) -> None:
    """Say why a job waits, or what was decided about it.

    JOB stands for the last attempt, JOB/ATTEMPT for one of those before.
    """
    key = WorkloadKey.parse(job)
    explained = invocation.paddleflow().workloads.explain(key, all_attempts=all_attempts)
    _print_explanation(explained, invocation.printer)


def _print_explanation(explained: Explanation, printer: Printer) -> None:
    match printer.form:
        case Form.JSON | Form.YAML:
            printer.table(explanation_table(explained))
        case Form.TEXT:
            printer.table(plain_facts(explained))
        case Form.TABLE:
            _tell(explained, printer)


def _tell(explained: Explanation, printer: Printer) -> None:
    """Says it in words for people."""
    printer.line(headline(explained))
    if explained.waiting is not None and explained.waiting.message:
        printer.line(explained.waiting.message)
    told = facts(explained)
    column = max(map(len, told), default=0)
    for about, text in told.items():
        printer.line(f"  {about:<{column}}  {text}")
    if explained.decisions:
        printer.line("decisions, oldest first:")
        printer.table(decision_table(explained.decisions))
    else:
        printer.line("no decision yet")


@click.command("decisions", cls=Verb)
@paging
@click.option("--queue", "queuename", default="", shell_complete=complete_queue, help="Only about jobs of this queue.")
@click.option("--job", default="", shell_complete=complete_job, help="Only about this job, all attempts.")
@click.option("--kind", multiple=True, type=click.Choice(_KINDS), help="Only of this kind; may be repeated.")
@click.option("--since", help="Only at or after this: 2h (ago), 2026-05-01, 2026-05-01T12:00:00+02:00.")
@pass_invocation
def decisions(
    invocation: Invocation,
    maxsize: int,
    marker: str,
    queuename: str,
    job: str,
    kind: tuple[str, ...],
    since: str | None,
) -> None:
    """List what was decided, newest first: who was admitted, told to leave, sent back, or held."""
    chosen: DecisionFilter = {"queue": queuename, "job_id": job, "kinds": [DecisionKind(each) for each in kind]}
    if since:
        chosen["since"] = moment("since", since, datetime.now(UTC))
    page = invocation.paddleflow().workloads.decision_page(maxsize, marker, **chosen)
    invocation.printer.list(decision_table(page.items), "decision", page.next_token)


@click.command("resume", cls=Verb)
@click.argument("job", shell_complete=complete_job)
@pass_invocation
def resume(invocation: Invocation, job: str) -> None:
    """Let a job wait again that is held because it was not started too often. For root."""
    known, key = invocation.paddleflow().workloads, WorkloadKey.parse(job)
    attempt = key if key.attempt else known.get(key).key
    resumed = known.resume(attempt)
    invocation.printer.success(f"job[{attempt}] resume success, now {resumed.state}", [workload_list([resumed])])
