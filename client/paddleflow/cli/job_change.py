"""``paddleflow job``: what changes jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from paddleflow.cli.completion import complete_known_job
from paddleflow.cli.failure import sentence
from paddleflow.cli.finding import suggesting
from paddleflow.cli.job_reading import read_job
from paddleflow.cli.job_submit import PRIORITIES
from paddleflow.cli.job_tables import whole_table
from paddleflow.cli.job_wait import wait_for
from paddleflow.cli.table import Form
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.job_specs import Priority
from paddleflow.models.jobs import Job, JobChanges, JobType
from paddleflow.problems import (
    InvalidArgument,
    NotFound,
    PermissionDenied,
    Problem,
    Unauthenticated,
    Unavailable,
)
from paddleflow.quantity import parse_pairs

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

TYPES = [str(each) for each in JobType if each]
JOBS = click.argument("ids", metavar="JOBID...", nargs=-1, required=True, shell_complete=complete_known_job)


@click.command("create", cls=Verb)
@click.argument("what", metavar="[TYPE] FILE", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Only say what is wrong with it; with -o yaml, what it would be.")
@click.option("--wait", "waiting", is_flag=True, help="Wait, and exit with the job's exit status.")
@pass_invocation
def create(invocation: Invocation, what: tuple[str, ...], dry_run: bool, waiting: bool) -> None:
    """Run the job that FILE describes in YAML or JSON; `-` reads it from the input.

    TYPE is single, distributed or workflow; where it is left out, a job with members is distributed. All that is wrong
    is told at once.
    """
    kind, path = _kind_and_path(what)
    source = "the input" if path == "-" else path
    with _by_line(source):
        spec = read_job(path, lambda spec: invocation.paddleflow().jobs.validate(spec, type=kind))
        paddleflow, printer = invocation.paddleflow(), invocation.printer
        made = (paddleflow.jobs.validate if dry_run else paddleflow.jobs.create)(spec, type=kind)
    if dry_run and printer.form is Form.YAML:
        printer.line(job_document(made))
        return
    said = f"{source} is a job that can be run" if dry_run else f"job create success, id[{made.id}]"
    printer.success(said, [] if waiting else [whole_table([made])])
    if waiting and not dry_run:
        wait_for(paddleflow, [made.id], printer)


@click.command("update", cls=Verb)
@click.argument("id", metavar="JOBID", shell_complete=complete_known_job)
@click.option("-p", "--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help="As long as it waits.")
@click.option("-l", "--labels", multiple=True, help="a=1,b=2; `a=` takes one away. Repeatable.")
@click.option("-a", "--annotations", multiple=True, help="As --labels.")
@click.option("--etag", default="", help="Change it only if it still has this etag, which `job show` tells.")
@pass_invocation
def update(
    invocation: Invocation,
    id: str,  # noqa: A002 -- the word of the contract
    priority: str | None,
    labels: tuple[str, ...],
    annotations: tuple[str, ...],
    etag: str,
) -> None:
    """Change the priority of a job that waits, or the labels and annotations of any."""
    changes: JobChanges = {"labels": _pairs("labels", labels), "annotations": _pairs("annotations", annotations)}
    if priority:
        changes["priority"] = Priority(priority.upper())
    paddleflow = invocation.paddleflow()
    with suggesting(paddleflow, id):
        after = paddleflow.jobs.update(id, etag=etag, **changes)
    invocation.printer.success(f"job[{id}] update success", [whole_table([after])])


@click.command("stop", cls=Verb)
@JOBS
@click.option("--now", is_flag=True, help="Kill at once, without the time of grace.")
@pass_invocation
def stop(invocation: Invocation, ids: tuple[str, ...], now: bool) -> None:
    """End jobs; those that are over stay as they are."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer

    def end(id_: str) -> None:
        stopped = paddleflow.jobs.stop(id_, now=now)
        printer.success(f"jobid[{id_}] stop success", [whole_table([stopped])])

    _each(paddleflow, ids, end)


@click.command("delete", cls=Verb)
@JOBS
@pass_invocation
def delete(invocation: Invocation, ids: tuple[str, ...]) -> None:
    """Forget jobs that are over, their replicas, events and logs."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer

    def forget(id_: str) -> None:
        paddleflow.jobs.delete(id_)
        printer.success(f"job[{id_}] delete success")

    _each(paddleflow, ids, forget)


def job_document(job: Job) -> str:
    """The job as a document that can be run again, under an id of its own."""
    from paddleflow.jobs.render import to_yaml  # noqa: PLC0415 -- few commands need it
    from paddleflow.wire.job_specs import spec_to_wire  # noqa: PLC0415 -- as above

    name = "" if job.spec.name == job.id else job.spec.name
    again = replace(job.spec, id="", name=name)
    return f"# job {job.id}, {job.state}\n{to_yaml(spec_to_wire(again))}".rstrip("\n")


def _kind_and_path(what: tuple[str, ...]) -> tuple[JobType, str]:
    match what:
        case (path,) if path not in TYPES:
            return JobType.UNSPECIFIED, path
        case (kind, path) if kind in TYPES:
            return JobType(kind), path
        case (_, _):
            raise click.UsageError(f"{what[0]!r} is not one of {', '.join(TYPES)}.")
        case _:
            raise click.UsageError("Say one FILE, and before it, if you like, its TYPE.")


@contextmanager
def _by_line(source: str) -> Iterator[None]:
    """Tells each of several things that are wrong with a document in a line of its own."""
    try:
        yield
    except (InvalidArgument, NotFound, PermissionDenied) as problem:
        if len(problem.violations) < 2:
            raise
        lines = [f"  {wrong.field}: {wrong.description}" for wrong in problem.violations]
        message = "\n".join([f"{len(lines)} things are wrong with {source}:", *lines])
        raise type(problem)(message, violations=problem.violations) from problem


def _pairs(what: str, texts: Sequence[str]) -> dict[str, str | None]:
    """The pairs of all texts; without a value those that are to be removed."""
    pairs = {name: value for text in texts for name, value in parse_pairs(what, text).items()}
    return {name: value or None for name, value in pairs.items()}


def _each(paddleflow: PaddleFlow, ids: Sequence[str], act: Callable[[str], None]) -> None:
    """Does something to each job; goes on where one is refused, and fails in the end."""
    refused: list[Problem] = []
    for id_ in dict.fromkeys(ids):
        try:
            with suggesting(paddleflow, id_):
                act(id_)
        except (Unauthenticated, Unavailable):
            raise
        except Problem as problem:
            refused.append(problem)
    for earlier in refused[:-1]:
        click.echo(sentence(" ".join(click.get_current_context().command_path.split()[1:]), earlier), err=True)
    if refused:
        raise refused[-1]
