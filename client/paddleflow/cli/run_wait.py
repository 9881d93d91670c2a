"""``paddleflow run wait``: waits for runs, and ends with what they ended with."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from paddleflow.cli.completion import complete_run
from paddleflow.cli.failure import INTERRUPTED, REFUSED, TIMED_OUT
from paddleflow.cli.output import Printer
from paddleflow.cli.parameters import duration, lasting
from paddleflow.cli.run_finding import suggesting_run
from paddleflow.cli.run_tables import run_table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.cli.waiting import alarm, progress
from paddleflow.models.runs import Run, RunState
from paddleflow.problems import RunNotFound

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow


@click.command("wait", cls=Verb)
@click.argument("ids", metavar="RUNID...", nargs=-1, required=True, shell_complete=complete_run)
@click.option("--timeout", help="Give up after this long: 90s, 10m, 1h30m. The runs go on.")
@pass_invocation
def wait(invocation: Invocation, ids: tuple[str, ...], timeout: str | None) -> None:
    """Wait until runs are over, and exit with 0 if all succeeded, else with 1.

    If the time is over, it is 124, and if the waiting is interrupted, 130; the runs go on.
    """
    patience = duration("timeout", timeout) if timeout is not None else None
    paddleflow, wanted = invocation.paddleflow(), tuple(dict.fromkeys(ids))
    for id_ in wanted if len(wanted) > 1 else ():
        with suggesting_run(paddleflow, id_):
            paddleflow.runs.get(id_)
    wait_for(paddleflow, wanted, invocation.printer, patience)


def wait_for(paddleflow: PaddleFlow, ids: Sequence[str], printer: Printer, patience: timedelta | None = None) -> None:
    """Waits until runs are over, and ends the command with what they ended with."""
    ctx, left, good = click.get_current_context(), list(ids), True
    with alarm(patience) as rung:
        try:
            while left:
                with suggesting_run(paddleflow, left[0]):
                    last = _last(paddleflow, left[0])
                printer.success(_words(last), [run_table([last])])
                good = good and last.state is RunState.SUCCEEDED
                left.pop(0)
        except KeyboardInterrupt:
            if rung.is_set() and patience is not None:
                click.echo(f"not over after {lasting(patience)}: {', '.join(map(_named, left))}", err=True)
            click.echo(f"it goes on; `paddleflow run stop {' '.join(left)}` ends it", err=True)
            ctx.exit(TIMED_OUT if rung.is_set() else INTERRUPTED)
    ctx.exit(0 if good else REFUSED)


def _last(paddleflow: PaddleFlow, id_: str) -> Run:
    """The run once it is over; tells how far it is before."""
    # In a pipe a line for each step would be too much.
    told, counting = "", sys.stderr.isatty()
    with progress() as tell:
        for run in paddleflow.runs.follow(id_):
            if run.state.over:
                return run
            if (words := _words(run, counting=counting)) != told:
                tell(told := words)
    raise RunNotFound(f"no run {id_!r}")


def _words(run: Run, *, counting: bool = False) -> str:
    steps = f" ({run.steps.over} of {run.steps.all} steps)" if counting and run.steps.all else ""
    why = f": {run.message}" if run.message else ""
    return f"{_named(run.id)} {run.state}{steps}{why}"


def _named(id_: str) -> str:
    return f"run[{id_}]"
