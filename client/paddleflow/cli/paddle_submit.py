"""Stores the package of a job of the command ``paddle``, and submits the job."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from paddleflow.cli.paddle_job import Stored
from paddleflow.cli.paddle_package import REQUIREMENTS, Package, store
from paddleflow.cli.paddle_place import Place
from paddleflow.models.job_specs import JobSpec
from paddleflow.models.jobs import Job, JobState
from paddleflow.problems import DeadlineExceeded, Internal, JobExists, Problem, Unavailable

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

UNFINISHED = [state for state in JobState if state and not state.over]
EVERY = 10.0
"""Seconds between two lines that say how far it is, where nobody sees a bar."""

_MEBIBYTE = 2**20


def refuse_namesake(paddleflow: PaddleFlow, name: str, owner: str) -> None:
    """Raises JobExists if there is a job of this name that is not over."""
    for job in paddleflow.jobs.list(states=UNFINISHED, owner=owner, name_prefix=name):
        if job.spec.name == name:
            raise JobExists(
                f"there is a job {name!r} already, {job.id}, which is {job.state}; choose another name, or end it with "
                f"`paddleflow job stop {job.id}`"
            )


def submit(paddleflow: PaddleFlow, spec: JobSpec, package: Package, place: Place, stored: Stored) -> Job:
    """Runs the job, its package stored before; if the job is refused, the package is removed."""
    paddleflow.jobs.validate(spec)
    if package.wants_requirements:
        click.echo(f"nothing installs {REQUIREMENTS}: what it names must be there where the job runs", err=True)
    if stored.output:
        place.make(stored.output)
    target = place.folder / stored.package
    with progress(package) as tell:
        store(package, target, tell)
    try:
        return paddleflow.jobs.create(spec)
    except (Unavailable, DeadlineExceeded, Internal, KeyboardInterrupt):
        click.echo(f"perhaps it runs: `paddleflow job show {spec.id}` tells; its package is {target}", err=True)
        raise
    except Problem:
        shutil.rmtree(target, ignore_errors=True)
        raise


@contextmanager
def progress(package: Package) -> Iterator[Callable[[int], None]]:
    """Says how much of it is stored: by a bar on a terminal, else in a line now and then."""
    label = f"storing {len(package.files)} file{'s' if len(package.files) > 1 else ''}, {_size(package.size)}"
    if sys.stderr.isatty():
        with click.progressbar(length=package.size, label=label, file=sys.stderr) as bar:
            yield bar.update
        return
    click.echo(label, err=True)
    done, said = 0, time.monotonic()

    def tell(more: int) -> None:
        nonlocal done, said
        done += more
        if time.monotonic() - said >= EVERY:
            said = time.monotonic()
            click.echo(f"{_size(done)} of {_size(package.size)} stored", err=True)

    yield tell


def _size(count: int) -> str:
    return f"{count / _MEBIBYTE:.1f} MiB" if count >= _MEBIBYTE else f"{count} bytes"
