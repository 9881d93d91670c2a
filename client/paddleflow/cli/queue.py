"""``paddleflow queue``."""

from __future__ import annotations

from typing import Unpack

import click

from paddleflow.cli.completion import complete_cluster, complete_queue, complete_user
from paddleflow.cli.follow import follow, matches
from paddleflow.cli.parameters import paging
from paddleflow.cli.queue_options import QueueOptions, changed, parse_words, queue_options, read_changes
from paddleflow.cli.queue_tables import queue_details, queue_list, queue_summary, queue_tree
from paddleflow.cli.replay import replay
from paddleflow.cli.simulate import simulate
from paddleflow.cli.table import Table
from paddleflow.cli.top import top
from paddleflow.cli.tree import FINE, PLAIN, draw_cluster, find, legend, plant
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.cli.workloads import decisions, explain, resume, workloads
from paddleflow.models.queues import Isolation, Queue, QueueFilter, QueueState, QuotaType
from paddleflow.models.users import Grant, ResourceKind
from paddleflow.original import ISOLATION_KEY, member, read_location
from paddleflow.problems import Immutable
from paddleflow.quantity import parse_pairs

_QUOTAS = [str(each) for each in QuotaType if each]
_ISOLATIONS = [str(each) for each in Isolation if each]
_STATES = [str(each) for each in QueueState if each]


@click.group(cls=Noun)
def queue() -> None:
    """Manage queues: who may use how much of a cluster. Changes are for root; users see what is granted to them."""


@queue.command("list")
@paging
@click.option("-cn", "--clustername", default="", shell_complete=complete_cluster, help="Only those of this cluster.")
@click.option("-n", "--namespace", default="", help="Only those of this namespace.")
@click.option("--parent", default="", shell_complete=complete_queue, help="Only those directly below this queue.")
@click.option("--status", multiple=True, type=click.Choice(_STATES), help="Only those in this state; may be repeated.")
@click.option("--prefix", default="", help="Only those whose names begin so.")
@click.option("-l", "--labels", default="", help="Only those with these labels: a=1,b=2.")
@click.option("-w", "--watch", "watching", is_flag=True, help="Print what changes, until interrupted.")
@pass_invocation
def list_queues(
    invocation: Invocation,
    maxsize: int,
    marker: str,
    clustername: str,
    namespace: str,
    parent: str,
    status: tuple[str, ...],
    prefix: str,
    labels: str,
    watching: bool,
) -> None:
    """List queues."""
    chosen: QueueFilter = {
        "cluster": clustername,
        "namespace": namespace,
        "parent": parent,
        "states": [QueueState(each) for each in status],
        "name_prefix": prefix,
        "labels": parse_pairs("labels", labels),
    }
    queues = invocation.paddleflow().queues
    if watching:
        follow(queues.watch(cluster=clustername), lambda each: matches(each, chosen), (), invocation.printer)
        return
    page = queues.page(maxsize, marker, **chosen)
    invocation.printer.list(queue_list(page.items), "queue", page.next_token)


@queue.command("show")
@click.argument("queuename", shell_complete=complete_queue)
@click.option("-w", "--watch", "watching", is_flag=True, help="Go on with what changes, until interrupted.")
@pass_invocation
def show(invocation: Invocation, queuename: str, watching: bool) -> None:
    """Show a queue: its state, and what it may use and uses.

    The maximum shown is the one that applies: where the queue has none of its own, that of the queue above.
    """
    paddleflow = invocation.paddleflow()
    found = paddleflow.queues.get(queuename)
    if watching:
        items = paddleflow.queues.watch(cluster=found.cluster)
        follow(items, lambda each: each.name == queuename, (), invocation.printer)
        return
    invocation.printer.table(queue_summary(found))
    invocation.printer.details("queue info", queue_details(found))


@queue.command("create")
@click.argument("name")
@click.argument("namespace")
@click.argument("maxcpu")
@click.argument("maxmem")
@click.option("-cn", "--clustername", default="", shell_complete=complete_cluster, help="Needed if there are several.")
@click.option("--quota", type=click.Choice(_QUOTAS), help="The kind of quota; else elasticQuota: a place in the tree.")
@click.option("--isolation", type=click.Choice(_ISOLATIONS), help="physical: it has machines for itself.")
@queue_options
@pass_invocation
def create(
    invocation: Invocation,
    name: str,
    namespace: str,
    maxcpu: str,
    maxmem: str,
    clustername: str,
    quota: str | None,
    isolation: str | None,
    **options: Unpack[QueueOptions],
) -> None:
    """Add a queue.

    MAXCPU and MAXMEM are its ceiling, as in `20 40Gi`; `-` stands for the ceiling of the queue above.
    """
    place = read_location(parse_pairs("location", options["location"] or ""))
    told = member(Isolation, isolation, "isolation") if isolation else place.isolation
    asked = Queue(
        name,
        cluster=clustername,
        namespace=namespace,
        quota_type=member(QuotaType, quota, "quota") if quota else QuotaType.UNSPECIFIED,
        isolation=told or Isolation.UNSPECIFIED,
    )
    made = invocation.paddleflow().queues.create(changed(asked, read_changes(maxcpu, maxmem, options)))
    invocation.printer.success(f"queue[{name}] create success", [queue_summary(made), queue_details(made)])


@queue.command("update")
@click.argument("name", shell_complete=complete_queue)
@click.option("--maxcpu", help="Ceiling of cores: 10, 500m; `-` takes the one of the queue above.")
@click.option("--maxmem", help="Ceiling of memory: 10Gi.")
@queue_options
@click.option("--etag", default="", help="Change it only if it still has this etag, which `queue show` tells.")
@pass_invocation
def update(
    invocation: Invocation,
    name: str,
    maxcpu: str | None,
    maxmem: str | None,
    etag: str,
    **options: Unpack[QueueOptions],
) -> None:
    """Change what is given of a queue.

    `-` in place of a quantity takes the resource away, as does an empty one in a list: `--maxscalar nvidia.com/gpu=`.
    """
    if read_location(parse_pairs("location", options["location"] or "")).isolation is not None:
        raise Immutable(f"{ISOLATION_KEY} cannot be changed after creation")
    changes = read_changes(maxcpu, maxmem, options)
    if not changes:
        raise click.UsageError("Nothing to change is given.")
    after = invocation.paddleflow().queues.update(name, etag=etag, **changes)
    invocation.printer.success(f"queue[{name}] update success", [queue_summary(after), queue_details(after)])


@queue.command("delete")
@click.argument("queuename", shell_complete=complete_queue)
@pass_invocation
def delete(invocation: Invocation, queuename: str) -> None:
    """Delete a queue and the grants on it; it must have no queues below it and no unfinished jobs."""
    invocation.paddleflow().queues.delete(queuename)
    invocation.printer.success(f"queue[{queuename}] delete success")


def _moving(verb: str, explanation: str) -> None:
    """Adds the command that puts a queue into another state."""

    @queue.command(verb, help=explanation)
    @click.argument("queuename", shell_complete=complete_queue)
    @pass_invocation
    def move(invocation: Invocation, queuename: str) -> None:
        moved: Queue = getattr(invocation.paddleflow().queues, verb)(queuename)
        tables = [queue_summary(moved), queue_details(moved)]
        invocation.printer.success(f"queue[{queuename}] {verb} success, now {moved.state}", tables)


_moving("open", "Let a queue take jobs and admit them.")
_moving("hold", "Keep a queue from admitting jobs; what runs goes on, what comes waits.")
_moving("drain", "Hold a queue, and send its running jobs back to wait.")
_moving("close", "Make a queue refuse new jobs; when those it has are done, it is closed.")


@queue.command("grant")
@click.argument("username", shell_complete=complete_user)
@click.argument("queuename", shell_complete=complete_queue)
@pass_invocation
def grant(invocation: Invocation, username: str, queuename: str) -> None:
    """Let a user see a queue and submit to it."""
    invocation.paddleflow().grants.create(Grant(username, ResourceKind.QUEUE, queuename))
    invocation.printer.success(f"queue[{queuename}] add username[{username}] success")


@queue.command("ungrant")
@click.argument("username", shell_complete=complete_user)
@click.argument("queuename", shell_complete=complete_queue)
@pass_invocation
def ungrant(invocation: Invocation, username: str, queuename: str) -> None:
    """Take a grant back."""
    invocation.paddleflow().grants.delete(Grant(username, ResourceKind.QUEUE, queuename))
    invocation.printer.success(f"queue[{queuename}] delete username[{username}] success")


@queue.command("grantlist")
@paging
@click.option("-u", "--username", default="", shell_complete=complete_user, help="Only grants to this user.")
@click.option("-q", "--queuename", default="", shell_complete=complete_queue, help="Only grants on this queue.")
@pass_invocation
def grantlist(invocation: Invocation, maxsize: int, marker: str, username: str, queuename: str) -> None:
    """List who may use which queue."""
    page = invocation.paddleflow().grants.page(
        maxsize, marker, user=username, kind=ResourceKind.QUEUE, resource=queuename
    )
    rows = [[each.user, each.resource] for each in page.items]
    invocation.printer.list(Table(["user name", "queue name"], rows), "grant", page.next_token)


@queue.command("tree")
@click.argument("root", required=False, shell_complete=complete_queue)
@click.option("-cn", "--clustername", default="", shell_complete=complete_cluster, help="Only this cluster.")
@click.option("-r", "--resource", default="", help="Only these resources: cpu,memory.")
@pass_invocation
def tree(invocation: Invocation, root: str | None, clustername: str, resource: str) -> None:
    """Draw the quota tree, or what stands below ROOT: what is used, guaranteed and allowed at most, by resource."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    places = plant(paddleflow.queues.list(cluster=clustername))
    if root is not None:
        places = [find(places, paddleflow.queues.get(root))]
    if printer.form.structured:
        printer.table(queue_tree(each for place in places for each in place.walk()))
        return
    brush = FINE if printer.drawing else PLAIN
    clusters = {each.name: each for each in paddleflow.clusters.list()}
    for name in dict.fromkeys(sorted(place.queue.cluster for place in places)):
        standing = [place for place in places if place.queue.cluster == name]
        for line in draw_cluster(name, clusters.get(name), standing, brush, parse_words(resource)):
            printer.line(line)
    printer.line(legend(brush) if places else "no queue found")


@queue.command("watch")
@click.argument("names", nargs=-1, shell_complete=complete_queue)
@click.option("-cn", "--clustername", default="", shell_complete=complete_cluster, help="Only queues of this cluster.")
@pass_invocation
def watch(invocation: Invocation, names: tuple[str, ...], clustername: str) -> None:
    """Print the queues (or those NAMES) as they are, then each change as it comes, until interrupted."""
    items = invocation.paddleflow().queues.watch(cluster=clustername)
    follow(items, lambda each: not names or each.name in names, names, invocation.printer)


for command in (decisions, explain, replay, resume, simulate, top, workloads):
    queue.add_command(command)
