"""``paddleflow job submit``: a command, run as a job."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TypedDict, Unpack

import click

from paddleflow.cli.completion import complete_filesystem, complete_flavour, complete_queue
from paddleflow.cli.job_tables import whole_table
from paddleflow.cli.job_wait import wait_for
from paddleflow.cli.verbs import F, Invocation, Verb, pass_invocation
from paddleflow.models.job_specs import FilesystemMount, JobFlavour, JobSpec, Priority, RetryPolicy
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.quantity import parse_pairs, parse_resources, within

GPU = "nvidia.com/gpu"
PRIORITIES = [str(each) for each in Priority if each]
MOST_RETRIES = 100
READ_ONLY, READ_WRITE = "ro", "rw"

USUAL: Mapping[str, str | int] = {"cpu": "1", "memory": "1Gi"}
"""What a job takes of which nothing is said."""


class SubmitOptions(TypedDict):
    """The options of a job as they were given."""

    name: str
    queue: str
    priority: str | None
    flavour: str
    cpu: str | None
    mem: str | None
    gpu: int | None
    env: tuple[str, ...]
    fs: tuple[str, ...]
    labels: tuple[str, ...]
    retries: int


_OPTIONS = (
    click.option("-n", "--name", default="", help="What to call it; need not be unique."),
    click.option("-q", "--queue", default="", shell_complete=complete_queue, help="Else default-queue."),
    click.option(
        "-p",
        "--priority",
        type=click.Choice(PRIORITIES, case_sensitive=False),
        metavar=f"[{'|'.join(PRIORITIES)}]",
        help="Among the jobs of its queue.",
    ),
    click.option("--flavour", default="", shell_complete=complete_flavour, help="What it takes, by the name of it."),
    click.option("--cpu", help="Cores: 2, 500m. If it is left out: one."),
    click.option("--mem", "--memory", "mem", help="Memory: 4Gi. If it is left out: 1Gi."),
    click.option("--gpu", type=click.IntRange(0, 10_000), help=f"Accelerators: {GPU}."),
    click.option("-e", "--env", multiple=True, help="NAME=VALUE, or NAME for what it is here. Repeatable."),
    click.option(
        "--fs",
        multiple=True,
        shell_complete=complete_filesystem,
        help="NAME[:PATH[:ro]], a filesystem and where it appears; it starts in the first. Repeatable.",
    ),
    click.option("-l", "--labels", multiple=True, help="a=1,b=2. Repeatable."),
    click.option(
        "--retries", type=click.IntRange(0, MOST_RETRIES), default=0, help="How often it is tried again if it fails."
    ),
)


def _submit_options(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command("submit", cls=Verb, context_settings={"allow_interspersed_args": False})
@_submit_options
@click.option("-w", "--wait", "waiting", is_flag=True, help="Wait, and exit with the job's exit status.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@pass_invocation
def submit(invocation: Invocation, command: tuple[str, ...], waiting: bool, **options: Unpack[SubmitOptions]) -> None:
    """Run COMMAND as a job of one replica.

    As in: paddleflow job submit --cpu 2 -- python train.py --epochs 3

    No shell reads it; for one say so: -- sh -c 'a && b'
    """
    paddleflow = invocation.paddleflow()
    made = paddleflow.jobs.create(read_spec(command, options, os.environ))
    invocation.printer.success(f"job create success, id[{made.id}]", [] if waiting else [whole_table([made])])
    if waiting:
        wait_for(paddleflow, [made.id], invocation.printer)


def read_spec(command: Iterable[str], options: SubmitOptions, environ: Mapping[str, str]) -> JobSpec:
    """The job of these options; raises InvalidArgument naming the option that makes no sense."""
    mounts = [_mount(text) for text in options["fs"]]
    return JobSpec(
        name=options["name"],
        queue=options["queue"],
        priority=Priority((options["priority"] or "").upper()),
        flavour=read_flavour(options["flavour"], options["cpu"], options["mem"], options["gpu"]),
        fs=mounts[0] if mounts else None,
        extra_fs=mounts[1:],
        env=read_env(options["env"], environ),
        labels={name: value for text in options["labels"] for name, value in parse_pairs("labels", text).items()},
        args=tuple(command),
        retry=RetryPolicy(limit=options["retries"]),
    )


def read_flavour(name: str, cpu: str | None, memory: str | None, gpu: int | None) -> JobFlavour:
    """What a replica takes: a flavour of this name, or amounts, or what is usual."""
    given = {"cpu": cpu, "memory": memory, GPU: gpu or None}
    told = {resource: amount for resource, amount in given.items() if amount is not None}
    if told and name:
        raise InvalidArgument.of(Violation("flavour", "excludes --cpu, --mem and --gpu"))
    with within("flavour"):
        return JobFlavour(name, parse_resources({**USUAL, **told} if told else {}))


def read_env(texts: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Variables from texts such as NAME=VALUE, or NAME for what it is in `environ`."""
    return dict(_variable(text, environ) for text in texts)


def _variable(text: str, environ: Mapping[str, str]) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator and name not in environ:
        raise InvalidArgument.of(Violation("env", f"{name!r} is not set here; write {name}=VALUE"))
    return name, value if separator else environ[name]


def _mount(text: str) -> FilesystemMount:
    name, _, place = text.partition(":")
    path, _, access = place.rpartition(":") if place.endswith((f":{READ_ONLY}", f":{READ_WRITE}")) else (place, "", "")
    if not name or (place and not path.startswith("/")):
        raise InvalidArgument.of(Violation("fs", f"{text!r} is not of the form NAME, NAME:/PATH or NAME:/PATH:ro"))
    return FilesystemMount(name, path, read_only=access == READ_ONLY)
