"""``paddleflow log``."""

from __future__ import annotations

from typing import NoReturn, TypedDict, Unpack

import click

from paddleflow.cli.completion import complete_cluster, complete_known_job, complete_run
from paddleflow.cli.job_logs import print_log
from paddleflow.cli.run_finding import suggesting_run
from paddleflow.cli.verbs import F, Invocation, Noun, pass_invocation
from paddleflow.models.clusters import ClusterType
from paddleflow.models.logs import LogOptions
from paddleflow.original_logs import LINES, MOST_LINES, SIZE, limited, size_of
from paddleflow.original_run_logs import LINES as PAGE
from paddleflow.original_run_logs import Paging, job_ids, read_pages, submit_log
from paddleflow.problems import NotServed

WHAT_CAN = "`paddleflow job logs JOBID` reads what a job has written"


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
        default=LINES,
        show_default=True,
        help="So many lines of each replica.",
    )
    size = click.option("-s", "--size_limit", default=SIZE, show_default=True, help="So many bytes of each replica.")
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


@log.command("show", failing="show run log")
@click.argument("runid", shell_complete=complete_run)
@click.option("-j", "--jobid", shell_complete=complete_known_job, help="Only this job of it.")
@click.option("-ps", "--pagesize", help=f"Lines of a page: at most {PAGE}, which is usual.")
@click.option("-pn", "--pageno", help="Which page, from 1.")
@click.option(
    "-fp", "--logfileposition", type=click.Choice(["begin", "end"]), help="Where page 1 is; if left out: end."
)
@pass_invocation
def show(
    invocation: Invocation,
    runid: str,
    jobid: str | None,
    pagesize: str | None,
    pageno: str | None,
    logfileposition: str | None,
) -> None:
    """Print what the jobs of a run have written, page by page; `paddleflow run logs` can do more."""
    page, paddleflow, printer = (
        Paging.of(pagesize, pageno, logfileposition),
        invocation.paddleflow(),
        invocation.printer,
    )
    with suggesting_run(paddleflow, runid):
        jobs = [jobid] if jobid else job_ids(paddleflow.runs.nodes(runid))
        printer.line(f"submit log:\n{submit_log(paddleflow, runid)}\n\nrun log:")
    for each in read_pages(paddleflow, jobs, page):
        where = f"runid:{runid}\tjobid:{each.job_id}\ttaskid:{each.task_id}"
        more = f"has_next_page:{each.more}\ttruncated:False\tpage_no:{page.number}\tpage_size:{page.size}"
        printer.line(f"{where}\t{more}\n{each.text}")


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
    if (size := size_of(told["size_limit"])) is None:
        raise click.UsageError(f"{told['size_limit']!r} is not a size; write a number of bytes, or 100M.")
    return limited(told["line_limit"], size, from_tail=bool(told["readfromtail"]))


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
    raise NotServed(f"{why}; {WHAT_CAN}")
