"""``paddleflow flavour``."""

from __future__ import annotations

import click

from paddleflow.cli.completion import complete_cluster, complete_flavour
from paddleflow.cli.parameters import amounts, paging
from paddleflow.cli.table import Cell, Table
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.models.clusters import Flavour, FlavourChanges
from paddleflow.quantity import CPU, MEMORY, format_amount, format_resources

HEADINGS = ["name", "cpu", "mem", "scalarResources", "clusterName"]


@click.group(cls=Noun)
def flavour() -> None:
    """Manage flavours: named bundles of resources that jobs ask for."""


@flavour.command("list")
@paging
@click.option(
    "-cn", "--clustername", default="", shell_complete=complete_cluster, help="Only those usable in this cluster."
)
@click.option("--prefix", default="", help="Only those whose names begin so.")
@pass_invocation
def list_flavours(invocation: Invocation, maxsize: int, marker: str, clustername: str, prefix: str) -> None:
    """List flavours."""
    page = invocation.paddleflow().flavours.page(maxsize, marker, cluster=clustername, name_prefix=prefix)
    invocation.printer.list(_table(*page.items), "flavour", page.next_token)


@flavour.command("show")
@click.argument("name", shell_complete=complete_flavour)
@pass_invocation
def show(invocation: Invocation, name: str) -> None:
    """Show a flavour."""
    invocation.printer.table(_table(invocation.paddleflow().flavours.get(name)))


@flavour.command("create")
@click.argument("name")
@click.option("-c", "--cpu", required=True, help="Cores: 4, 500m.")
@click.option("-m", "--memory", required=True, help="Memory: 10Gi, 512M.")
@click.option("-s", "--scalar", help="Other resources: nvidia.com/gpu=1,rdma/hca=1.")
@click.option(
    "-cn", "--clustername", default="", shell_complete=complete_cluster, help="The only cluster it can be used in."
)
@pass_invocation
def create(invocation: Invocation, name: str, cpu: str, memory: str, scalar: str | None, clustername: str) -> None:
    """Add a flavour; you, and root, may change it."""
    resources = {key: amount for key, amount in amounts("resources", cpu, memory, scalar).items() if amount is not None}
    made = invocation.paddleflow().flavours.create(Flavour(name, resources, clustername))
    invocation.printer.success(f"flavour[{name}] create success", [_table(made)])


@flavour.command("update")
@click.argument("name", shell_complete=complete_flavour)
@click.option("-c", "--cpu", help="Cores: 4, 500m.")
@click.option("-m", "--memory", help="Memory: 10Gi, 512M.")
@click.option("-s", "--scalar", help="Other resources: nvidia.com/gpu=1; one without a quantity goes: nvidia.com/gpu=.")
@click.option("-cn", "--clustername", shell_complete=complete_cluster, help="The only cluster it can be used in.")
@pass_invocation
def update(
    invocation: Invocation,
    name: str,
    cpu: str | None,
    memory: str | None,
    scalar: str | None,
    clustername: str | None,
) -> None:
    """Change what is given of a flavour. Jobs submitted with it keep what they asked for."""
    changes: FlavourChanges = {"resources": amounts("resources", cpu, memory, scalar)}
    if clustername is not None:
        changes["cluster"] = clustername
    elif not changes["resources"]:
        raise click.UsageError("Nothing to change is given.")
    changed = invocation.paddleflow().flavours.update(name, **changes)
    invocation.printer.success(f"flavour[{name}] update success", [_table(changed)])


@flavour.command("delete")
@click.argument("name", shell_complete=complete_flavour)
@pass_invocation
def delete(invocation: Invocation, name: str) -> None:
    """Delete a flavour."""
    invocation.paddleflow().flavours.delete(name)
    invocation.printer.success(f"flavour[{name}] delete success")


def _table(*flavours: Flavour) -> Table:
    return Table(HEADINGS, [_row(each) for each in flavours])


def _row(each: Flavour) -> list[Cell]:
    scalars = {name: text for name, text in format_resources(each.resources).items() if name not in (CPU, MEMORY)}
    return [
        each.name,
        format_amount(CPU, each.resources.get(CPU, 0)),
        format_amount(MEMORY, each.resources.get(MEMORY, 0)),
        scalars,
        each.cluster,
    ]
