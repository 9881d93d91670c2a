"""Datasets and shards in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from pf_job.jobs.domain import ENDED, TaskState
from pf_job.runtimes.port import ReplicaKey
from pf_job.shards.domain import Claim, Dataset, DatasetKey, Lease, Plan, Shard, ShardState
from pf_job.shards.store import Place
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import Row, rows
from pf_kit.unit import Change, View

PART = 100
"""Items in a row."""
SHARD_COLUMNS = 12
"""Of `_shard_values`."""


class PostgresShardStore:
    """Fulfils `ShardStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_job.shards")

    async def datasets(self, view: View, job: str, names: Sequence[str]) -> Sequence[Dataset]:
        return [_dataset(row) for row in await rows(view).fetch(self._sql["datasets"], job, list(names))]

    async def page(self, view: View, job: str, after: str, limit: int) -> Sequence[Dataset]:
        return [_dataset(row) for row in await rows(view).fetch(self._sql["page"], job, after, limit)]

    async def add(self, change: Change, dataset: Dataset, items: Sequence[str]) -> None:
        await rows(change).execute(self._sql["add"], *_whole(dataset))
        if items:
            await rows(change).execute(self._sql["add_items"], dataset.key.job, dataset.key.name, list(items), PART)

    async def keep(self, change: Change, dataset: Dataset, shards: Sequence[Shard], gone: Sequence[Place]) -> None:
        columns = _columns([_shard_values(shard) for shard in shards]) if shards else [[]] * SHARD_COLUMNS
        await rows(change).execute(self._sql["keep"], *_standing(dataset), *columns, *_places(gone))

    async def items(self, view: View, key: DatasetKey, first: int, count: int) -> Sequence[str]:
        part, last = first // PART, (first + count - 1) // PART
        found = await rows(view).fetch(self._sql["items"], key.job, key.name, part, last)
        items = [item for row in found for item in row["items"]]
        return items[first - part * PART :][:count]

    async def named(
        self, view: View, key: DatasetKey, places: Sequence[Place], requests: Sequence[str]
    ) -> Sequence[Shard]:
        found = await rows(view).fetch(self._sql["named"], key.job, key.name, *_places(places), list(requests))
        return [_shard(row) for row in found]

    async def claims(self, view: View, key: DatasetKey, now: datetime, limit: int) -> Sequence[Claim]:
        found = await rows(view).fetch(self._sql["claims"], key.job, key.name, now, list(ENDED), limit)
        return [Claim(_shard(row), row["ended"] and TaskState(row["ended"])) for row in found]

    async def clear(self, change: Change, key: DatasetKey) -> None:
        await rows(change).execute(self._sql["clear"], key.job, key.name)

    async def shards(
        self, view: View, key: DatasetKey, states: Sequence[ShardState], after: Place, limit: int
    ) -> Sequence[Shard]:
        found = await rows(view).fetch(self._sql["shards"], key.job, key.name, list(states), *after, limit)
        return [_shard(row) for row in found]


def _columns(values: Sequence[Sequence[object]]) -> Sequence[Sequence[object]]:
    """The same, column by column; there is at least one row."""
    return [list(column) for column in zip(*values, strict=True)]


def _places(places: Sequence[Place]) -> tuple[Sequence[int], Sequence[int]]:
    return [pass_ for pass_, _ in places], [number for _, number in places]


def _whole(dataset: Dataset) -> Sequence[object]:
    """The values of the columns of `datasets`, in the order in which the query names them."""
    plan = dataset.plan
    return (
        dataset.key.job,
        dataset.key.name,
        plan.total,
        plan.size,
        plan.passes,
        plan.lease,
        plan.retries,
        plan.seed,
        plan.digest,
        *_standing(dataset)[2:-1],
        dataset.create_time,
        dataset.update_time,
    )


def _standing(dataset: Dataset) -> Sequence[object]:
    return (
        dataset.key.job,
        dataset.key.name,
        dataset.pass_,
        dataset.handed,
        dataset.returned,
        dataset.done,
        dataset.failed,
        dataset.failed_in_all,
        dataset.kept,
        dataset.epoch,
        dataset.update_time,
    )


def _dataset(row: Row) -> Dataset:
    return Dataset(
        key=DatasetKey(row["job"], row["name"]),
        plan=Plan(
            total=row["total"],
            size=row["size"],
            passes=row["passes"],
            lease=row["lease"],
            retries=row["retries"],
            seed=row["seed"],
            digest=row["digest"],
        ),
        pass_=row["pass"],
        handed=row["handed"],
        returned=row["returned"],
        done=row["done"],
        failed=row["failed"],
        failed_in_all=row["failed_in_all"],
        kept=row["kept"],
        epoch=row["epoch"],
        create_time=row["create_time"],
        update_time=row["update_time"],
    )


def _shard_values(shard: Shard) -> Sequence[object]:
    """The values of the columns of `shards` behind those of the dataset, in the order in which the query names them."""
    lease, holder = shard.lease, shard.holder
    return (
        lease.pass_,
        lease.number,
        lease.epoch,
        shard.state,
        shard.failures,
        shard.reason,
        holder.attempt,
        holder.role,
        holder.index,
        holder.restart,
        shard.request,
        shard.until,
    )


def _shard(row: Row) -> Shard:
    return Shard(
        lease=Lease(row["pass"], row["number"], row["epoch"]),
        state=ShardState(row["state"]),
        failures=row["failures"],
        reason=row["reason"],
        holder=ReplicaKey(row["job"], row["attempt"], row["role"], row["index"], row["restart"]),
        request=row["request"],
        until=row["until"],
    )
