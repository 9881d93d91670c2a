"""``paddleflow log``."""

from __future__ import annotations

import re

import click

from paddleflow.cli.completion import complete_known_job
from paddleflow.cli.job_logs import MOST_LINES, print_log
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.models.logs import LogOptions

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_SIZE = re.compile(r"([0-9]{1,12})([KMG]?)B?", re.IGNORECASE)


@click.group(cls=Noun)
def log() -> None:
    """Read what was written."""


@log.command("job")
@click.option("-j", "--jobid", required=True, shell_complete=complete_known_job, help="The job.")
@click.option("-f", "--framework", help="Not needed: the job knows.")
@click.option("-r", "--readfromtail", help="Any value: the last lines, and not the first ones.")
@click.option(
    "-l",
    "--line_limit",
    type=click.IntRange(1, MOST_LINES),
    default=1000,
    show_default=True,
    help="So many lines of each replica.",
)
@click.option("-s", "--size_limit", default="100M", show_default=True, help="So many bytes of each replica.")
@pass_invocation
def job(
    invocation: Invocation,
    jobid: str,
    framework: str | None,
    readfromtail: str | None,
    line_limit: int,
    size_limit: str,
) -> None:
    """Print what a job has written; `paddleflow job logs` can do more."""
    del framework
    options: LogOptions = {"max_bytes": _size(size_limit), "max_lines": line_limit}
    if readfromtail:
        options["tail_lines"] = line_limit
    print_log(invocation, jobid, options)


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None or not int(found[1]):
        raise click.UsageError(f"{text!r} is not a size; write a number of bytes, or 100M.")
    return int(found[1]) * UNITS[found[2].upper()]
