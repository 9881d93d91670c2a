"""``paddleflow queue simulate``: what would happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, TypedDict, Unpack

import click

from paddleflow.cli.completion import complete_queue, complete_user
from paddleflow.cli.output import Printer
from paddleflow.cli.parameters import LARGEST_COUNT, amounts, lasting
from paddleflow.cli.supposition import USUAL_ROLE, Supposition, read_supposition
from paddleflow.cli.table import Cell, Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.cli.workload_tables import simulated_decisions, simulated_table
from paddleflow.models.admission import Simulation
from paddleflow.models.workloads import RoleRequest, Workload, WorkloadKey

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

GPU = "nvidia.com/gpu"
SUPPOSED = "supposed"
"""The job, or the user, of which nothing is said."""
_COUNT = click.IntRange(0, LARGEST_COUNT)


class Flags(TypedDict):
    """The options that tell of one workload; None: not given."""

    queuename: str | None
    cpu: str | None
    memory: str | None
    gpu: int | None
    scalar: str | None
    replicas: int | None
    max_replicas: int | None
    priority: int | None
    username: str | None


@click.command("simulate", cls=Verb)
@click.option("-f", "--file", type=click.File("rb"), help="What is supposed, in YAML or JSON; `-` is the input.")
@click.option("--queue", "queuename", shell_complete=complete_queue, help="The queue the workload would wait in.")
@click.option("--cpu", help="Cores of one replica: 4, 500m.")
@click.option("--memory", help="Memory of one replica: 10Gi.")
@click.option("--gpu", type=_COUNT, help=f"{GPU} of one replica.")
@click.option("--scalar", help="Other resources of one replica: rdma/hca=1.")
@click.option("--replicas", type=_COUNT, help="Replicas without which it cannot run; else 1.")
@click.option("--max-replicas", type=_COUNT, help="Replicas it can make use of; else as many as it needs.")
@click.option("--priority", type=click.IntRange(-1_000_000, 1_000_000), help="HIGH is 1000, NORMAL 0, LOW -1000.")
@click.option("--username", shell_complete=complete_user, help="Whose it would be; else yours.")
@pass_invocation
def simulate(invocation: Invocation, file: BinaryIO | None, **flags: Unpack[Flags]) -> None:
    """Say what would be decided if workloads were submitted, queues changed, or machines came and went.

    Nothing is changed. The options tell of one workload; a file tells of more:

    \b
    workloads:
      - {job: big, queue: team-a, replicas: 4, maxReplicas: 8, resources: {cpu: 8, memory: 32Gi}}
    queues:
      - {name: team-a, max: {cpu: 64}, weight: 200}
    nodes:
      - {cluster: default-cluster, name: node-9, allocatable: {cpu: 32, memory: 128Gi}}
    gone:
      - {cluster: default-cluster, name: node-1}

    What is not said of a queue stays as it is. Only root may suppose other queues and machines.
    """  # noqa: D301 -- a sign to click that lines stay as they are
    user = invocation.configuration().user or SUPPOSED
    given = any(value is not None for value in flags.values())
    if given == (file is not None):
        raise click.UsageError("Give either a file, or --queue and what one replica takes.")
    supposed = read_supposition(file.read(), user) if file else Supposition([_workload(flags, user)])
    _print(_ask(invocation.paddleflow(), supposed), invocation.printer)


def _workload(flags: Flags, user: str) -> Workload:
    if not flags["queuename"]:
        raise click.UsageError("--queue is missing.")
    taken = amounts("resources", flags["cpu"], flags["memory"], flags["scalar"])
    role = RoleRequest(
        USUAL_ROLE,
        1 if flags["replicas"] is None else flags["replicas"],
        {**{name: amount for name, amount in taken.items() if amount}, **({GPU: flags["gpu"]} if flags["gpu"] else {})},
        flags["max_replicas"] or 0,
    )
    return Workload(
        WorkloadKey(SUPPOSED, 1),
        flags["queuename"],
        flags["username"] or user,
        [role],
        flags["priority"] or 0,
    )


def _ask(paddleflow: PaddleFlow, supposed: Supposition) -> Simulation:
    return paddleflow.workloads.simulate(
        supposed.workloads,
        queues=[change(paddleflow.queues.get(name)) for name, change in supposed.queues],
        nodes=supposed.nodes,
        gone=supposed.gone,
    )


def _print(found: Simulation, printer: Printer) -> None:
    workloads, decisions = simulated_table(found.workloads), simulated_decisions(found.decisions)
    if printer.form.structured:
        row: list[Cell] = [[*workloads.objects()], [*decisions.objects()]]
        printer.table(Table(["workloads", "decisions"], [row]))
        return
    if workloads.rows:
        printer.table(workloads)
    if decisions.rows:
        printer.line("decisions, in order:")
        printer.table(decisions)
    else:
        printer.line("nothing would be decided")
    if found.cut_off:
        printer.line(f"more would be decided; this is what would be in the first {lasting(found.horizon)}")
