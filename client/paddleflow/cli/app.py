"""``paddleflow``: the command with all its groups."""

from __future__ import annotations

from pathlib import Path

import click

from paddleflow.cli.artifact import artifact
from paddleflow.cli.audit import audit
from paddleflow.cli.cluster import cluster
from paddleflow.cli.completion import completion
from paddleflow.cli.flavour import flavour
from paddleflow.cli.fs import fs
from paddleflow.cli.job import job
from paddleflow.cli.log import log
from paddleflow.cli.login import login, version
from paddleflow.cli.pipeline import pipeline
from paddleflow.cli.queue import queue
from paddleflow.cli.run import run
from paddleflow.cli.schedule import schedule
from paddleflow.cli.statistics import statistics
from paddleflow.cli.token import token
from paddleflow.cli.user import user
from paddleflow.cli.verbs import Invocation, Noun


@click.group(
    cls=Noun,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "auto_envvar_prefix": "PADDLEFLOW",
    },
)
@click.option(
    "--pf_config",
    type=click.Path(path_type=Path),
    help="The configuration; else the file PADDLEFLOW_CONFIG names, else ~/.paddleflow/paddleflow.ini.",
)
@click.pass_context
def cli(ctx: click.Context, pf_config: Path | None) -> None:
    """Use PaddleFlow: share a cluster between teams, and run pipelines on it.

    `paddleflow NOUN VERB --help` tells of each command. Exit status: 0 done, 1 refused, 2 wrong command line, 3 the
    server does not answer, 4 not logged in.
    """
    ctx.ensure_object(Invocation).config = pf_config


for command in (artifact, audit, cluster, completion, flavour, fs, job, log, login, pipeline, queue, run, schedule):
    cli.add_command(command)
for command in (statistics, token, user, version):
    cli.add_command(command)
