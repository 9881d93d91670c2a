"""The options of the command ``paddle``, and what they ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import click

from paddleflow.cli.completion import complete_filesystem, complete_queue
from paddleflow.cli.job_submit import GPU
from paddleflow.cli.paddle_job import Crew, Program, crew_of, find_module
from paddleflow.cli.paddle_package import Package, read_package
from paddleflow.cli.verbs import F

MOST = 10_000
"""Processes of one role."""


class Told(TypedDict):
    """What is said of a job, wherever it runs."""

    words: tuple[str, ...]
    package_path: str
    module: str
    pserver_count: int
    trainer_count: int
    fault_tolerant: bool
    input: str | None
    output: str | None


class Submitted(Told):
    """What is said of a job that is submitted."""

    fs: str
    queue: str
    cpu: str | None
    mem: str | None
    gpu: int | None
    image: str
    env: tuple[str, ...]
    waiting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A job that somebody asked for, its package looked at."""

    name: str
    package: Package
    crew: Crew
    program: Program


_JOB = (
    click.argument("words", metavar="NAME [ARGUMENT]...", nargs=-1, required=True, type=click.UNPROCESSED),
    click.option(
        "--package-path", "--pcakage-path", "package_path", required=True, help="The folder with the files to run."
    ),
    click.option("--module", "--module-name", "module", required=True, help="What is run of it: train, demo.train."),
    click.option("--pserver-count", type=click.IntRange(0, MOST), default=0, help="How many parameter servers."),
    click.option("--trainer-count", type=click.IntRange(0, MOST), default=0, help="How many trainers."),
    click.option("--fault-tolerant", is_flag=True, help="Start a master first, and start again what fails."),
    click.option("--input", help="The folder of its data."),
    click.option("--output", help="The folder for what it makes; made if it is not there."),
)
_PLACE = (
    click.option("--fs", default="", shell_complete=complete_filesystem, help="The filesystem of package and data."),
    click.option("-q", "--queue", default="", shell_complete=complete_queue, help="Else default-queue."),
    click.option("--cpu", help="Cores of each process: 2, 500m. If it is left out: one."),
    click.option("--mem", "--memory", "mem", help="Memory of each process: 4Gi. If it is left out: 1Gi."),
    click.option("--gpu", type=click.IntRange(0, MOST), help=f"Accelerators of each process: {GPU}."),
    click.option("--image", default="", help="The image, on clusters that have images."),
    click.option("-e", "--env", multiple=True, help="NAME=VALUE, or NAME for what it is here. Repeatable."),
    click.option("-w", "--wait", "waiting", is_flag=True, help="Wait, and exit with the job's exit status."),
)


def job_options(function: F) -> F:
    """The options of `Told`."""
    for option in reversed(_JOB):
        function = option(function)
    return function


def submitted_options(function: F) -> F:
    """The options of `Submitted`."""
    for option in reversed(_PLACE):
        function = option(function)
    return job_options(function)


def read_asked(told: Told) -> Asked:
    """The job; raises a problem that says what of it makes no sense."""
    name, *rest = told["words"]
    path = told["package_path"]
    if not path and rest:
        # `--package-path= ./demo` is how the first client's own page writes it.
        path, *rest = rest
    if not name or not path:
        raise click.UsageError("Say what the job is called, and where its package is.")
    crew = crew_of(told["pserver_count"], told["trainer_count"], fault_tolerant=told["fault_tolerant"])
    package = read_package(path)
    program = Program(module=find_module(package, told["module"]), arguments=tuple(rest))
    return Asked(name=name, package=package, crew=crew, program=program)
