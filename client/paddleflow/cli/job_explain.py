"""``paddleflow job explain``: why a job does not run, or how it stands."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from paddleflow.cli.completion import complete_known_job
from paddleflow.cli.finding import suggesting
from paddleflow.cli.job_tables import whole_table
from paddleflow.cli.output import Printer
from paddleflow.cli.parameters import lasting
from paddleflow.cli.table import Cell, Form, Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.cli.workload_tables import decision_table, explanation_table, facts, plain_facts
from paddleflow.models.admission import Explanation
from paddleflow.models.jobs import Job, JobState, RoleStatus
from paddleflow.models.workloads import WorkloadKey
from paddleflow.original import original_time
from paddleflow.original_jobs import bounds
from paddleflow.problems import NotFound, PermissionDenied

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow


@click.command("explain", cls=Verb)
@click.argument("id", metavar="JOBID", shell_complete=complete_known_job)
@pass_invocation
def explain(invocation: Invocation, id: str) -> None:  # noqa: A002 -- the word of the contract
    """Say why a job waits, and what its queue decided about it; of one that does not wait, how it stands."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    with suggesting(paddleflow, id):
        job = paddleflow.jobs.get(id)
    explained = _explanation(paddleflow, job)
    match printer.form:
        case Form.JSON | Form.YAML:
            printer.table(_whole(job, explained))
        case Form.TEXT:
            printer.table(_plain(job, explained))
        case Form.TABLE:
            _tell(job, explained, printer)


def _explanation(paddleflow: PaddleFlow, job: Job) -> Explanation | None:
    """What admission says of the present attempt; None if it does not know of it, or not tell the caller."""
    try:
        return paddleflow.workloads.explain(WorkloadKey(job.id, job.attempt))
    except (NotFound, PermissionDenied):
        return None


def _whole(job: Job, explained: Explanation | None) -> Table:
    """All there is to say, in one row, for programs."""
    [row] = whole_table([job]).objects()
    admission: Cell = explanation_table(explained).objects()[0] if explained else None
    fields: dict[str, Cell] = {**row, "admission": admission}
    return Table(list(fields), [list(fields.values())])


def _plain(job: Job, explained: Explanation | None) -> Table:
    """A fact in each row, for scripts."""
    rows = [["job", about, text] for about, text in _facts(job)]
    queue = [["queue", *row] for row in plain_facts(explained).rows] if explained else []
    return Table(["of", "what", "value"], [*rows, *queue])


def _tell(job: Job, explained: Explanation | None, printer: Printer) -> None:
    """Says it in words for people."""
    printer.line(_headline(job, datetime.now(UTC)))
    told = [(about, text) for about, text in _facts(job) if about not in ("id", "status")]
    if explained is not None:
        if explained.waiting is not None:
            told.append(("why it waits", f"{explained.waiting.reason}. {explained.waiting.message}".rstrip(" .") + "."))
        told += facts(explained).items()
    column = max((len(about) for about, _ in told), default=0)
    for about, text in told:
        printer.line(f"  {about:<{column}}  {text}")
    if explained is not None and explained.decisions:
        printer.line("decisions about this attempt, oldest first:")
        printer.table(decision_table(explained.decisions))


def _headline(job: Job, now: datetime) -> str:
    """The job in one sentence."""
    since = {JobState.RUNNING: job.start_time}.get(job.state, job.accept_time)
    name = f" ({job.spec.name})" if job.spec.name not in ("", job.id) else ""
    if job.state.over:
        return f"{job.id}{name} is over: {job.state}"
    if since is None:
        return f"{job.id}{name} is {job.state}"
    return f"{job.id}{name} has been {job.state} for {lasting(now - since)}"


def _facts(job: Job) -> Iterator[tuple[str, str]]:
    told = {
        "id": job.id,
        "status": str(job.state),
        "message": job.message,
        "note": "; ".join(job.notes),
        "queue": job.queue,
        "user": job.owner,
        "attempt": f"{job.attempt}, after {job.retries} that failed" if job.retries else str(job.attempt),
        "not before": original_time(job.not_before),
        "cluster": job.cluster,
        "replicas": ", ".join(_replicas(job, role) for role in job.roles),
    }
    yield from ((about, text) for about, text in told.items() if text)


def _replicas(job: Job, role: RoleStatus) -> str:
    if job.state.over:
        return f"{role.succeeded} of {role.replicas} {role.role} ended well"
    if of := bounds(job, role.role):
        coming = f", {role.replicas} are to" if role.replicas != role.running else ""
        return f"{role.running} of {of} {role.role} run{coming}"
    return f"{role.running} of {role.replicas} {role.role} run"
