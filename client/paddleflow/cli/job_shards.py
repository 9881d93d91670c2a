"""``paddleflow job shards``: how far the trainers of a job are with their data."""

from __future__ import annotations

from collections.abc import Iterable

import click

from paddleflow.cli.completion import complete_known_job
from paddleflow.cli.finding import suggesting
from paddleflow.cli.parameters import paging
from paddleflow.cli.table import Cell, Table
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.models.shards import Dataset, ShardState, ShardStatus
from paddleflow.original import member, original_time

DATASET_HEADINGS = ["name", "pass", "passes", "shards", "todo", "leased", "done", "failed", "failed in all", "over"]
SHARD_HEADINGS = ["pass", "number", "first", "count", "status", "failures", "task", "attempt", "until", "reason"]
MOST_PASSES = 10_000


@click.command("shards", cls=Verb)
@click.argument("id", metavar="JOBID", shell_complete=complete_known_job)
@click.argument("dataset", required=False)
@click.option("-s", "--status", multiple=True, help="Only shards in this state: leased, returned, failed. Repeatable.")
@click.option(
    "--begin-anew",
    "pass_number",
    metavar="PASS",
    type=click.IntRange(1, MOST_PASSES),
    help="Let the dataset begin anew, at this pass; who has shards of it loses them.",
)
@paging
@pass_invocation
def shards(
    invocation: Invocation,
    id: str,  # noqa: A002 -- the word of the contract
    dataset: str | None,
    status: tuple[str, ...],
    pass_number: int | None,
    maxsize: int,
    marker: str,
) -> None:
    """List the datasets that the trainers of a job share out; of one of them, the shards that are not done.

    Shards that nobody had yet are only counted.
    """
    if dataset is None and (status or pass_number):
        raise click.UsageError("Say which dataset.")
    datasets, printer = invocation.paddleflow().datasets, invocation.printer
    with suggesting(invocation.paddleflow(), id):
        if dataset is None:
            page = datasets.page(id, maxsize, marker)
            printer.list(dataset_table(page.items), "dataset", page.next_token)
        elif pass_number:
            begun = datasets.reset(id, dataset, pass_number=pass_number)
            printer.success(f"dataset[{dataset}] begins anew with pass {pass_number}", [dataset_table([begun])])
        else:
            states = [member(ShardState, word.strip(), "status") for text in status for word in text.split(",")]
            found = datasets.shard_page(id, dataset, maxsize, marker, states=states)
            printer.list(shard_table(found.items), "shard", found.next_token)


def dataset_table(datasets: Iterable[Dataset]) -> Table:
    return Table(DATASET_HEADINGS, [_dataset(dataset) for dataset in datasets])


def shard_table(shards: Iterable[ShardStatus]) -> Table:
    return Table(SHARD_HEADINGS, [_shard(shard) for shard in shards])


def _dataset(dataset: Dataset) -> list[Cell]:
    return [
        dataset.name,
        min(dataset.pass_number, dataset.plan.passes),
        dataset.plan.passes,
        dataset.shards,
        dataset.todo,
        dataset.leased,
        dataset.done,
        dataset.failed,
        dataset.failed_in_all,
        dataset.over,
    ]


def _shard(shard: ShardStatus) -> list[Cell]:
    return [
        shard.lease.pass_number,
        shard.lease.number,
        shard.first,
        shard.count,
        str(shard.state),
        shard.failures,
        f"{shard.role}/{shard.index}",
        shard.attempt,
        original_time(shard.until),
        shard.reason,
    ]
