"""``paddle``: the job command of PaddlePaddle's first client."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Unpack

import click

from paddleflow.cli.job_submit import read_env, read_flavour
from paddleflow.cli.job_tables import whole_table
from paddleflow.cli.job_wait import wait_for
from paddleflow.cli.paddle_job import Crew, Program, Stored, Work, mpi_spec, paddle_spec
from paddleflow.cli.paddle_options import Submitted, Told, job_options, read_asked, submitted_options
from paddleflow.cli.paddle_place import Place, find_place
from paddleflow.cli.paddle_submit import refuse_namesake, submit
from paddleflow.cli.verbs import Invocation, Noun, Verb, pass_invocation
from paddleflow.models.job_specs import JobSpec

FORM = ("-o", "--form")
"""What asks for a form of the output: --output says where a job puts what it makes."""


@click.group(cls=Noun, output=FORM, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--pf_config",
    type=click.Path(path_type=Path),
    help="The configuration; else the file PADDLEFLOW_CONFIG names, else ~/.paddleflow/paddleflow.ini.",
)
@click.pass_context
def paddle(ctx: click.Context, pf_config: Path | None) -> None:
    """Run a package of Python as a job, as PaddlePaddle's first client did.

    `k8s` and `mpi` submit a job to PaddleFlow, `local` runs the same processes here. `paddleflow job` does the rest:
    show, logs, wait, stop.
    """
    ctx.ensure_object(Invocation).config = pf_config


@paddle.group("k8s", output=FORM)
def k8s() -> None:
    """Jobs of parameter servers and trainers, on the cluster of a queue."""


@paddle.group("mpi", output=FORM)
def mpi() -> None:
    """Jobs whose processes are started by mpirun, on the cluster of a queue."""


@paddle.group("local", output=FORM)
def local() -> None:
    """Jobs of this machine, without a server."""


@k8s.command("job", cls=Verb, output=FORM)
@submitted_options
@pass_invocation
def k8s_job(invocation: Invocation, /, **options: Unpack[Submitted]) -> None:
    """Store a package, and run its module: first by the master, then by the pservers, then by the trainers.

    As in: paddle k8s job mnist --package-path=./demo --module=demo.train --pserver-count=2 --trainer-count=4
    --input=/mnist --output=/models

    Without counts the module runs once, by itself. Every process runs `python3 -m MODULE --input=… --output=…
    ARGUMENT...`; which one it is, its environment says.
    """
    _submit(invocation, paddle_spec, options)


@mpi.command("job", cls=Verb, output=FORM)
@submitted_options
@pass_invocation
def mpi_job(invocation: Invocation, /, **options: Unpack[Submitted]) -> None:
    """Store a package, and run its module by mpirun: the first ranks are the pservers, the others the trainers.

    Without counts the module runs once, by itself.
    """
    if options["fault_tolerant"]:
        raise click.UsageError("mpirun ends all processes with the first that fails: --fault-tolerant is for k8s.")
    _submit(invocation, mpi_spec, options)


@local.command("job", cls=Verb, output=FORM)
@job_options
@click.pass_context
def local_job(ctx: click.Context, /, **told: Unpack[Told]) -> None:
    """Run a module of a package on this machine, in as many processes as `paddle k8s job` would.

    Input and output are folders of this machine; the package is used where it lies. Ends when the trainers have, or
    with the first process that fails, and exits with its status. Ctrl-C ends all.
    """
    from paddleflow.cli.paddle_local import run_here, starts_of  # noqa: PLC0415 -- loads asyncio

    starts = starts_of(read_asked(told), told["input"], told["output"], os.environ)
    ctx.exit(run_here(starts, sys.stdout.buffer, lambda words: click.echo(words, err=True)))


def _submit(
    invocation: Invocation,
    spec_of: Callable[[str, str, Crew, Program, Stored, Work], JobSpec],
    options: Submitted,
) -> None:
    asked, work, config = read_asked(options), _work(options), invocation.configuration()
    paddleflow = invocation.paddleflow_of(config)
    place = find_place(paddleflow, options["fs"] or config.package_fs)
    refuse_namesake(paddleflow, asked.name, config.user)
    id_ = f"job-{secrets.token_hex(8)}"
    stored = _stored(id_, place, options)
    spec = spec_of(id_, asked.name, asked.crew, asked.program, stored, work)
    made = submit(paddleflow, spec, asked.package, place, stored)
    said = f"job create success, id[{made.id}], package[{place.folder / stored.package}]"
    invocation.printer.success(said, [] if options["waiting"] else [whole_table([made])])
    if options["waiting"]:
        wait_for(paddleflow, [made.id], invocation.printer)


def _work(options: Submitted) -> Work:
    return {
        "queue": options["queue"],
        "flavour": read_flavour("", options["cpu"], options["mem"], options["gpu"]),
        "image": options["image"],
        "env": read_env(options["env"], os.environ),
    }


def _stored(id_: str, place: Place, told: Told) -> Stored:
    reads, writes = told["input"], told["output"]
    return Stored(
        filesystem=place.filesystem,
        package=f"{id_}-package",
        input=place.existing("input", reads) if reads else None,
        output=place.inner("output", writes) if writes else None,
    )


def main() -> None:
    """The console script ``paddle``."""
    # What gRPC logs of connections that come and go would stand between the lines of a job.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    paddle.main(prog_name="paddle")


if __name__ == "__main__":
    main()
