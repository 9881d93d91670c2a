"""``paddleflow cluster``."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import BinaryIO

import click

from paddleflow.cli.completion import complete_cluster, complete_queue
from paddleflow.cli.parameters import paging
from paddleflow.cli.report import read_report
from paddleflow.cli.table import Cell, Table
from paddleflow.cli.verbs import F, Invocation, Noun, pass_invocation
from paddleflow.models.clusters import Cluster, ClusterStatus, Node
from paddleflow.original import (
    cluster_fields,
    cluster_resources,
    member,
    node_resources,
    original_time,
)
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.quantity import format_resources, parse_pairs

LIST_HEADINGS = [
    "cluster id",
    "cluster name",
    "description",
    "cluster type",
    "version",
    "status",
    "create time",
    "update time",
]
NODE_HEADINGS = ["cluster name", "node name", "schedulable", "dedicated queue", "allocatable", "labels"]
RESOURCE_HEADINGS = ["cluster name", "cluster info"]


@click.group(cls=Noun)
def cluster() -> None:
    """Manage clusters and look at their machines. Changes are for root."""


def _details(function: F) -> F:
    """The options that say what a cluster is like."""
    for option in reversed(
        (
            click.option(
                "-c",
                "--credential",
                help="The kubeconfig: an absolute path, or its content in base64. Never shown again.",
            ),
            click.option("-d", "--description", help="What it is, for people."),
            click.option("--source", help="Where the machines are: OnPremise, AWS, CCE."),
            click.option("--setting", help="Settings of the runtime: a JSON object."),
            click.option("--status", help="online, or offline: nothing is sent to it."),
            click.option("-ns", "--namespacelist", help="Namespaces that queues may use: ns1,ns2. Else any."),
            click.option("--version", help="Version of the software behind the endpoint, such as v1.28."),
        )
    ):
        function = option(function)
    return function


@cluster.command("list")
@paging
@click.option("-cn", "--clusternames", default="", help="Only these: name1,name2.")
@click.option("-cs", "--clusterstatus", help="Only those that are online, or offline.")
@pass_invocation
def list_clusters(
    invocation: Invocation, maxsize: int, marker: str, clusternames: str, clusterstatus: str | None
) -> None:
    """List clusters."""
    status = member(ClusterStatus, clusterstatus, "clusterstatus") if clusterstatus else ClusterStatus.UNSPECIFIED
    page = invocation.paddleflow().clusters.page(maxsize, marker, names=_split(clusternames), status=status)
    rows: list[list[Cell]] = [
        [each.name, each.name, each.description, str(each.type), each.version, str(each.status), *_times(each)]
        for each in page.items
    ]
    invocation.printer.list(Table(LIST_HEADINGS, rows), "cluster", page.next_token)


@cluster.command("show")
@click.argument("clustername", shell_complete=complete_cluster)
@pass_invocation
def show(invocation: Invocation, clustername: str) -> None:
    """Show a cluster."""
    for table in _tables(invocation.paddleflow().clusters.get(clustername)):
        invocation.printer.table(table)


@cluster.command("create")
@click.argument("clustername")
@click.argument("endpoint")
@click.argument("clustertype", metavar="Kubernetes|Local")
@_details
@pass_invocation
def create(
    invocation: Invocation,
    /,
    clustername: str,
    endpoint: str,
    clustertype: str,
    credential: str | None,
    status: str | None,
    namespacelist: str | None,
    **texts: str | None,
) -> None:
    """Add a cluster.

    ENDPOINT is the address of its API server; "" for a local cluster.
    """
    fields = cluster_fields(
        clustertype, status, _namespaces(namespacelist), _credential(credential), endpoint=endpoint, **texts
    )
    made = invocation.paddleflow().clusters.create(Cluster(clustername, **fields))
    invocation.printer.success(f"cluster[{clustername}] create success, id[{made.name}]", _tables(made))


@cluster.command("update")
@click.argument("clustername", shell_complete=complete_cluster)
@click.option("-e", "--endpoint", help="Address of its API server.")
@click.option("-t", "--clustertype", help="Kubernetes or Local.")
@_details
@pass_invocation
def update(
    invocation: Invocation,
    /,
    clustername: str,
    clustertype: str | None,
    credential: str | None,
    status: str | None,
    namespacelist: str | None,
    **texts: str | None,
) -> None:
    """Change what is given of a cluster."""
    fields = cluster_fields(clustertype, status, _namespaces(namespacelist), _credential(credential), **texts)
    if not fields:
        raise click.UsageError("Nothing to change is given.")
    changed = invocation.paddleflow().clusters.update(clustername, **fields)
    invocation.printer.success(f"cluster[{clustername}] update success, id[{changed.name}]", _tables(changed))


@cluster.command("delete")
@click.argument("clustername", shell_complete=complete_cluster)
@click.option("--cascade", is_flag=True, help="Delete its queues, their grants and its flavours with it.")
@pass_invocation
def delete(invocation: Invocation, clustername: str, cascade: bool) -> None:
    """Delete a cluster and what is known of its machines."""
    invocation.paddleflow().clusters.delete(clustername, cascade=cascade)
    invocation.printer.success(f"cluster[{clustername}] delete success")


@cluster.command("resource", failing="get cluster resource")
@click.option("-cn", "--clustername", default="", help="Only these: name1,name2.")
@pass_invocation
def resource(invocation: Invocation, clustername: str) -> None:
    """Show what clusters have in all and (to root) what is left, and their machines."""
    paddleflow = invocation.paddleflow()
    sees_all = paddleflow.tokens.who_am_i().root
    rows: list[list[Cell]] = []
    for each in paddleflow.clusters.list(names=_split(clustername)):
        machines = list(paddleflow.clusters.nodes(clusters=[each.name]))
        queues = list(paddleflow.queues.list(cluster=each.name)) if sees_all else None
        rows.append([each.name, cluster_resources(each, machines, queues)])
    invocation.printer.table(Table(RESOURCE_HEADINGS, rows))


@cluster.command("statistic", failing="get cluster resource")
@click.option("--pageno", type=click.IntRange(min=0), default=1, show_default=True, help="Which page.")
@click.option("--pagesize", type=click.IntRange(min=1), default=1000, show_default=True, help="Machines on a page.")
@click.option("-cn", "--clusternames", default="", help="Only these: name1,name2.")
@click.option("-q", "--queuename", default="", shell_complete=complete_queue, help="Only machines this queue can use.")
@click.option("-l", "--labels", default="", help="Only machines with these labels: a=1,b=2.")
@pass_invocation
def statistic(
    invocation: Invocation, pageno: int, pagesize: int, clusternames: str, queuename: str, labels: str
) -> None:
    """Show what workloads can have of each machine, by cluster."""
    found = list(_nodes(invocation, clusternames, queuename, labels))
    chosen = found[max(pageno - 1, 0) * pagesize :][:pagesize]
    names = dict.fromkeys(node.cluster for node in chosen)
    rows: list[list[Cell]] = [
        [name, node_resources(name, queuename, [node for node in chosen if node.cluster == name])] for name in names
    ]
    invocation.printer.table(Table(RESOURCE_HEADINGS, rows))


@cluster.command("nodes")
@click.option("-cn", "--clusternames", default="", help="Only machines of these clusters: name1,name2.")
@click.option("-q", "--queuename", default="", shell_complete=complete_queue, help="Only machines this queue can use.")
@click.option("-l", "--labels", default="", help="Only machines with these labels: a=1,b=2.")
@paging
@pass_invocation
def nodes(invocation: Invocation, clusternames: str, queuename: str, labels: str, maxsize: int, marker: str) -> None:
    """List machines."""
    page = invocation.paddleflow().clusters.node_page(
        maxsize, marker, clusters=_split(clusternames), queue=queuename, labels=parse_pairs("labels", labels)
    )
    rows = [_node_row(node) for node in page.items]
    invocation.printer.list(Table(NODE_HEADINGS, rows), "machine", page.next_token)


@cluster.command("report")
@click.argument("file", type=click.File("rb"))
@pass_invocation
def report(invocation: Invocation, file: BinaryIO) -> None:
    """Tell a cluster which machines it has, in place of all told before.

    FILE (`-`: the input) is YAML or JSON:

    \b
        cluster: default-cluster
        revision: 7              # left out: one more than the last
        nodes:
          - name: node-1
            allocatable: {cpu: 32, memory: 128Gi, nvidia.com/gpu: 8}
            labels: {zone: a}            # may be left out
            schedulable: true            # may be left out
            dedicatedQueue: team-a       # may be left out
    """  # noqa: D301 -- a sign to click that lines stay as they are
    told = read_report(file.read())
    clusters = invocation.paddleflow().clusters
    revision = told.revision or clusters.get(told.cluster).revision + 1
    changed = clusters.report_nodes(told.cluster, revision, told.nodes)
    invocation.printer.success(
        f"cluster[{told.cluster}] report success: {changed.node_count} machines, revision {changed.revision}",
        _tables(changed),
    )


def _tables(each: Cluster) -> list[Table]:
    first: dict[str, Cell] = {
        "cluster id": each.name,
        "cluster name": each.name,
        "description": each.description,
        "endpoint": each.endpoint,
        "source": each.source,
        "cluster type": str(each.type),
        "version": each.version,
        "status": str(each.status),
        "setting": each.setting,
        "namespace list": list(each.namespaces),
        "create time": original_time(each.create_time),
        "update time": original_time(each.update_time),
    }
    second: dict[str, Cell] = {
        "credential": "stored" if each.has_credential else "none",
        "machines": each.node_count,
        "revision": each.revision,
        "capacity": format_resources(each.capacity),
        "overcommitted": each.overcommitted,
    }
    return [Table(list(part), [list(part.values())]) for part in (first, second)]


def _times(each: Cluster) -> tuple[str, str]:
    return original_time(each.create_time), original_time(each.update_time)


def _node_row(node: Node) -> list[Cell]:
    allocatable = format_resources(node.allocatable)
    return [node.cluster, node.name, node.schedulable, node.dedicated_queue, allocatable, dict(node.labels)]


def _nodes(invocation: Invocation, clusternames: str, queuename: str, labels: str) -> list[Node]:
    chosen = invocation.paddleflow().clusters.nodes(
        clusters=_split(clusternames), queue=queuename, labels=parse_pairs("labels", labels)
    )
    return list(chosen)


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _namespaces(names: str | None) -> list[str] | None:
    return None if names is None else _split(names)


def _credential(text: str | None) -> bytes | None:
    """The kubeconfig: of the file at an absolute path, else decoded from base64."""
    if text is None:
        return None
    try:
        return Path(text).read_bytes() if text.startswith("/") else base64.b64decode(text, validate=True)
    except OSError as error:
        raise InvalidArgument.of(Violation("credential", f"{text} cannot be read: {error.strerror}")) from error
    except binascii.Error as error:
        raise InvalidArgument.of(Violation("credential", "is neither an absolute path nor base64")) from error
