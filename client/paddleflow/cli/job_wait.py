"""``paddleflow job wait``: waits for jobs, and ends with what they ended with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from paddleflow.cli.completion import complete_known_job
from paddleflow.cli.failure import INTERRUPTED, REFUSED, TIMED_OUT
from paddleflow.cli.finding import suggesting
from paddleflow.cli.job_tables import whole_table
from paddleflow.cli.output import Printer
from paddleflow.cli.parameters import duration, lasting
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.cli.waiting import alarm, progress
from paddleflow.models.jobs import Job, JobState, Task, TaskState
from paddleflow.problems import JobNotFound

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

SIGNALLED = 128
"""What shells add to the number of the signal that ended a program."""


@click.command("wait", cls=Verb)
@click.argument("ids", metavar="JOBID...", nargs=-1, required=True, shell_complete=complete_known_job)
@click.option("--timeout", help="Give up after this long: 90s, 10m, 1h30m. The jobs go on.")
@pass_invocation
def wait(invocation: Invocation, ids: tuple[str, ...], timeout: str | None) -> None:
    """Wait until jobs are over, and exit with the exit status of the first one named that did not succeed.

    That of a job is 0 if it succeeded, else that of the replica that failed first, or 128 and the number of the signal
    that ended it, else 1. If the time is over, it is 124, and if the waiting is interrupted, 130; the jobs go on.
    """
    patience = duration("timeout", timeout) if timeout is not None else None
    paddleflow, wanted = invocation.paddleflow(), tuple(dict.fromkeys(ids))
    if len(wanted) > 1:
        for id_ in wanted:
            with suggesting(paddleflow, id_):
                paddleflow.jobs.get(id_)
    wait_for(paddleflow, wanted, invocation.printer, patience)


def wait_for(paddleflow: PaddleFlow, ids: Sequence[str], printer: Printer, patience: timedelta | None = None) -> None:
    """Waits until jobs are over, and ends the command with what they ended with."""
    ctx, statuses = click.get_current_context(), list[int]()
    with alarm(patience) as rung:
        try:
            for id_ in ids:
                with suggesting(paddleflow, id_):
                    last = _last(paddleflow, id_)
                printer.success(_words(last), [whole_table([last])])
                statuses.append(_status(paddleflow, last))
        except KeyboardInterrupt:
            left = ids[len(statuses) :]
            if rung.is_set() and patience is not None:
                click.echo(f"not over after {lasting(patience)}: {', '.join(map(_named, left))}", err=True)
            click.echo(_going_on(left), err=True)
            ctx.exit(TIMED_OUT if rung.is_set() else INTERRUPTED)
    ctx.exit(next(filter(None, statuses), 0))


def exit_status(job: Job, tasks: Iterable[Task]) -> int:
    """What a command ends with that stands for a job which is over.

    0 if it ended well, else what a shell would tell of the replica that failed first, else 1.
    """
    if job.state is JobState.SUCCEEDED:
        return 0
    failed = [task for task in tasks if task.state is TaskState.FAILED and (task.exit_status or task.signal)]
    failed.sort(key=lambda task: task.finish_time.timestamp() if task.finish_time else 0.0)
    return next((task.exit_status or SIGNALLED + task.signal for task in failed), REFUSED)


def _last(paddleflow: PaddleFlow, id_: str) -> Job:
    """The job once it is over; tells of each change before."""
    told = ""
    with progress() as tell:
        for job in paddleflow.jobs.follow(id_):
            if job.state.over:
                return job
            if (words := _words(job)) != told:
                tell(told := words)
    raise JobNotFound(f"no job {id_!r}")


def _status(paddleflow: PaddleFlow, job: Job) -> int:
    tasks: Sequence[Task] = () if job.state is not JobState.FAILED else list(paddleflow.jobs.tasks(job.id))
    return exit_status(job, tasks)


def _words(job: Job) -> str:
    why = f": {job.message}" if job.message else ""
    return f"{_named(job.id)} {job.state}{why}"


def _named(id_: str) -> str:
    return f"job[{id_}]"


def _going_on(ids: Sequence[str]) -> str:
    stop = f"`paddleflow job stop {' '.join(ids)}`"
    if len(ids) == 1:
        return f"{_named(ids[0])} goes on; {stop} ends it"
    return f"{len(ids)} jobs go on; {stop} ends them"
