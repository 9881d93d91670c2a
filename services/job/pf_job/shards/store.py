"""Where datasets and their shards are kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from pf_job.shards.domain import Claim, Dataset, DatasetKey, Shard, ShardState
from pf_kit.unit import Change, View

Place = tuple[int, int]
"""A pass, and the number of a shard."""


class ShardStore(Protocol):
    """The port to the rows. Whoever writes holds the lock of the job. They go with the job."""

    async def datasets(self, view: View, job: str, names: Sequence[str]) -> Sequence[Dataset]:
        """The datasets of these names that a job has, in no order."""

    async def page(self, view: View, job: str, after: str, limit: int) -> Sequence[Dataset]:
        """The datasets of a job with names after one, by name."""

    async def add(self, change: Change, dataset: Dataset, items: Sequence[str]) -> None:
        """Keeps a new dataset, with its items."""

    async def keep(self, change: Change, dataset: Dataset, shards: Sequence[Shard], gone: Sequence[Place]) -> None:
        """Keeps how far a dataset is, that there is, and shards of it in the place of those that there are; forgets
        others.
        """

    async def items(self, view: View, key: DatasetKey, first: int, count: int) -> Sequence[str]:
        """Items of a dataset, in order; none if it has none."""

    async def named(
        self, view: View, key: DatasetKey, places: Sequence[Place], requests: Sequence[str]
    ) -> Sequence[Shard]:
        """Shards of these places, and those that are leased to these requests."""

    async def claims(self, view: View, key: DatasetKey, now: datetime, limit: int) -> Sequence[Claim]:
        """Shards that can be leased again, those first that were returned, or whose lease ran out, first."""

    async def clear(self, change: Change, key: DatasetKey) -> None:
        """Forgets all shards of a dataset."""

    async def shards(
        self, view: View, key: DatasetKey, states: Sequence[ShardState], after: Place, limit: int
    ) -> Sequence[Shard]:
        """Shards in these states behind a place, by pass and number."""
