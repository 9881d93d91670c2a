"""``paddleflow log``."""

from __future__ import annotations

import re
from typing import NoReturn, TypedDict, Unpack

import click

from paddleflow.cli.completion import complete_cluster, complete_known_job
from paddleflow.cli.job_logs import MOST_LINES, print_log
from paddleflow.cli.verbs import F, Invocation, Noun, pass_invocation
from paddleflow.models.clusters import ClusterType
from paddleflow.models.logs import LogOptions
from paddleflow.problems import NotServed

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_SIZE = re.compile(r"([0-9]{1,12})([KMG]?)B?", re.IGNORECASE)


class Limits(TypedDict):
    """How much is read."""

    readfromtail: str | None
    line_limit: int
    size_limit: str


def limits(function: F) -> F:
    """The options of `Limits`."""
    tail = click.option("-r", "--readfromtail", help="Any value: the last lines, and not the first ones.")
    lines = click.option(
        "-l",
        "--line_limit",
        type=click.IntRange(1, MOST_LINES),
        default=1000,
        show_default=True,
        help="So many lines of each replica.",
    )
    size = click.option("-s", "--size_limit", default="100M", show_default=True, help="So many bytes of each replica.")
    return tail(lines(size(function)))


def kube_object(function: F) -> F:
    """The options that name an object of a Kubernetes cluster."""
    name = click.option("-n", "--name", help="The name of the object.")
    namespace = click.option("-ns", "--namespace", help="Its namespace.")
    cluster = click.option("-c", "--clustername", shell_complete=complete_cluster, help="Its cluster.")
    kind = click.option("-t", "--type", help="What it is: pod, deployment.")
    return name(namespace(cluster(kind(function))))


def any_framework(function: F) -> F:
    return click.option("-f", "--framework", expose_value=False, help="Not needed: the job knows.")(function)


@click.group(cls=Noun)
def log() -> None:
    """Read what was written."""


@log.command("job")
@click.option("-j", "--jobid", required=True, shell_complete=complete_known_job, help="The job.")
@any_framework
@limits
@pass_invocation
def job(invocation: Invocation, jobid: str, **told: Unpack[Limits]) -> None:
    """Print what a job has written; `paddleflow job logs` can do more."""
    print_log(invocation, jobid, _options(told))


@log.command("kube")
@kube_object
@limits
@pass_invocation
def kube(invocation: Invocation, /, clustername: str | None, **_: object) -> None:
    """Print what an object of a Kubernetes cluster has written. No cluster can do this yet: it says what can."""
    _refuse(invocation, clustername or "")


@log.command("showlimit")
@click.option("-j", "--jobid", shell_complete=complete_known_job, help="The job.")
@any_framework
@kube_object
@limits
@pass_invocation
def showlimit(
    invocation: Invocation,
    jobid: str | None,
    name: str | None,
    namespace: str | None,
    clustername: str | None,
    type: str | None,  # noqa: A002 -- the option's name
    **told: Unpack[Limits],
) -> None:
    """Print what a job has written, as `log job` does, or an object of a Kubernetes cluster, as `log kube`."""
    of_object = bool(name or namespace or clustername or type)
    if bool(jobid) == of_object:
        raise click.UsageError("Name a job by --jobid, or an object of a Kubernetes cluster by the others.")
    if jobid:
        print_log(invocation, jobid, _options(told))
    else:
        _refuse(invocation, clustername or "")


def _options(told: Limits) -> LogOptions:
    options: LogOptions = {"max_bytes": _size(told["size_limit"]), "max_lines": told["line_limit"]}
    if told["readfromtail"]:
        options["tail_lines"] = told["line_limit"]
    return options


def _refuse(invocation: Invocation, clustername: str) -> NoReturn:
    """Says why nothing of Kubernetes can be read, and what can be read instead."""
    clusters = invocation.paddleflow().clusters
    chosen = [clusters.get(clustername)] if clustername else list(clusters.list())
    if any(each.type is ClusterType.KUBERNETES for each in chosen):
        why = "logs of Kubernetes are not served yet; use kubectl"
    elif clustername:
        why = f"cluster[{clustername}] is no Kubernetes cluster"
    else:
        why = "there is no Kubernetes cluster"
    raise NotServed(f"{why}; `paddleflow job logs JOBID` reads what a job has written")


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None or not int(found[1]):
        raise click.UsageError(f"{text!r} is not a size; write a number of bytes, or 100M.")
    return int(found[1]) * UNITS[found[2].upper()]
