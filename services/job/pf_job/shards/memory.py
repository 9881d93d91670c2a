"""Datasets and shards in memory, for tests: as durable as the process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pf_job.jobs.domain import ENDED, Task, TaskKey
from pf_job.shards.domain import Claim, Dataset, DatasetKey, Shard, ShardState
from pf_job.shards.store import Place
from pf_kit.memory import tables
from pf_kit.unit import Change, View

ShardKey = tuple[DatasetKey, Place]


class MemoryShardStore:
    """Fulfils `ShardStore` over a `MemoryDatabase`."""

    async def datasets(self, view: View, job: str, names: Sequence[str]) -> Sequence[Dataset]:
        return [dataset for dataset in self._of(view, job) if dataset.key.name in names]

    async def page(self, view: View, job: str, after: str, limit: int) -> Sequence[Dataset]:
        later = [dataset for dataset in self._of(view, job) if dataset.key.name > after]
        return sorted(later, key=lambda dataset: dataset.key)[:limit]

    async def add(self, change: Change, dataset: Dataset, items: Sequence[str]) -> None:
        await self.keep(change, dataset, [], [])
        tables(change).table("items")[dataset.key] = tuple(items)

    async def keep(self, change: Change, dataset: Dataset, shards: Sequence[Shard], gone: Sequence[Place]) -> None:
        tables(change).table("datasets")[dataset.key] = dataset
        stored: dict[ShardKey, Shard] = tables(change).table("shards")
        stored.update({(dataset.key, shard.lease.place): shard for shard in shards})
        for place in gone:
            stored.pop((dataset.key, place), None)

    async def items(self, view: View, key: DatasetKey, first: int, count: int) -> Sequence[str]:
        kept: tuple[str, ...] = tables(view).table("items").get(key, ())
        return kept[first : first + count]

    async def named(
        self, view: View, key: DatasetKey, places: Sequence[Place], requests: Sequence[str]
    ) -> Sequence[Shard]:
        return [
            shard
            for shard in _shards(view, key)
            if shard.lease.place in places
            or (shard.state is ShardState.LEASED and shard.request and shard.request in requests)
        ]

    async def claims(self, view: View, key: DatasetKey, now: datetime, limit: int) -> Sequence[Claim]:
        tasks: dict[TaskKey, Task] = tables(view).table("tasks")
        ended = {task.key: task.state for task in tasks.values() if task.state in ENDED}
        found = [
            Claim(shard, ended.get(shard.holder))
            for shard in _shards(view, key)
            if shard.state is ShardState.RETURNED
            or (shard.state is ShardState.LEASED and (shard.until <= now or shard.holder in ended))
        ]
        return sorted(found, key=lambda claim: (claim.shard.until, claim.shard.lease.number))[:limit]

    async def clear(self, change: Change, key: DatasetKey) -> None:
        for shard in _shards(change, key):
            del tables(change).table("shards")[key, shard.lease.place]

    async def shards(
        self, view: View, key: DatasetKey, states: Sequence[ShardState], after: Place, limit: int
    ) -> Sequence[Shard]:
        found = [shard for shard in _shards(view, key) if shard.state in states and shard.lease.place > after]
        return sorted(found, key=lambda shard: shard.lease.place)[:limit]

    def _of(self, view: View, job: str) -> Sequence[Dataset]:
        stored: dict[DatasetKey, Dataset] = tables(view).table("datasets")
        # What belongs to a job goes with it.
        return [dataset for key, dataset in stored.items() if key.job == job and job in tables(view).table("jobs")]


def _shards(view: View, key: DatasetKey) -> Sequence[Shard]:
    stored: dict[ShardKey, Shard] = tables(view).table("shards")
    return [shard for (of, _), shard in stored.items() if of == key]
