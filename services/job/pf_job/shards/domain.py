"""Datasets of jobs, cut into shards, and the leases of these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from pf_job.jobs.domain import TaskState
from pf_job.runtimes.port import ReplicaKey
from pf_job.shards.order import number_at

LEASE = timedelta(seconds=60)
"""How long a lease lasts that does not say so."""
RETRIES = 3
"""How often a shard is leased again that failed, if its dataset does not say."""
MOST_LEASED = 20_000
"""Leases of a dataset at one time."""
MOST_KEPT = 10_000
"""Shards of a dataset that failed for good and are remembered; the others are only counted."""


@dataclass(frozen=True, slots=True, order=True)
class DatasetKey:
    """A dataset of a job."""

    job: str
    name: str


@dataclass(frozen=True, slots=True)
class Span:
    """The records of a shard, or its items."""

    first: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a dataset is to be handed out."""

    total: int
    """Records, or items."""
    size: int = 1
    """Of a shard; the last one may have fewer."""
    passes: int = 1
    lease: timedelta = LEASE
    retries: int = RETRIES
    seed: int | None = None
    """None: in order."""
    digest: bytes = b""
    """Of its items; empty if it has none."""

    @property
    def shards(self) -> int:
        return -(-self.total // self.size)

    def span(self, number: int) -> Span:
        first = number * self.size
        return Span(first, min(self.size, self.total - first))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A dataset, and how far its trainers are.

    Of the shards of a pass, only those are kept one by one that were handed out and are neither done nor forgotten; all
    others follow from these counts.
    """

    key: DatasetKey
    plan: Plan
    pass_: int = 1
    """The one under way; more than there are to be when all are complete."""
    handed: int = 0
    """Shards of this pass that somebody has, or had."""
    returned: int = 0
    """Those of them that wait to be leased again."""
    done: int = 0
    failed: int = 0
    failed_in_all: int = 0
    """In all passes together."""
    kept: int = 0
    """Shards that failed and are remembered."""
    epoch: int = 0
    """Of the last lease. It never goes back."""
    create_time: datetime
    update_time: datetime

    @property
    def leased(self) -> int:
        return self.handed - self.returned - self.done - self.failed

    @property
    def todo(self) -> int:
        return 0 if self.over else self.plan.shards - self.handed + self.returned

    @property
    def over(self) -> bool:
        return self.pass_ > self.plan.passes

    @property
    def next_number(self) -> int:
        """The shard that is handed out next, if not all of them were."""
        if self.plan.seed is None:
            return self.handed
        return number_at(self.handed, self.plan.shards, self.plan.seed, self.pass_)


class ShardState(StrEnum):
    """Where a shard stands that was handed out and is not done."""

    LEASED = "leased"
    RETURNED = "returned"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, order=True)
class Lease:
    """One lease of one shard, for ever."""

    pass_: int
    number: int
    epoch: int

    @property
    def place(self) -> tuple[int, int]:
        """Which shard it is of."""
        return self.pass_, self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A shard that was handed out and is not done."""

    lease: Lease
    """The last one."""
    state: ShardState = ShardState.LEASED
    failures: int = 0
    reason: str = ""
    """Why it failed last, or was returned."""
    holder: ReplicaKey
    """Who had it last."""
    request: str = ""
    """With which it was asked for."""
    until: datetime
    """When the lease ends; when it was returned or failed, if nobody has it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A shard that can be leased again."""

    shard: Shard
    ended: TaskState | None = None
    """How whoever had it ended; None if it has not, or is not known."""


def begun_anew(dataset: Dataset, pass_: int, now: datetime) -> Dataset:
    """The dataset with all shards of a pass ahead; leases of before are worth nothing."""
    return replace(dataset, pass_=pass_, handed=0, returned=0, done=0, failed=0, kept=0, update_time=now)


def closed(dataset: Dataset) -> Dataset:
    """The dataset in its next pass, if the one under way is complete. The counts of the last one stay."""
    if dataset.over or dataset.done + dataset.failed < dataset.plan.shards:
        return dataset
    if dataset.pass_ == dataset.plan.passes:
        return replace(dataset, pass_=dataset.pass_ + 1)
    return replace(dataset, pass_=dataset.pass_ + 1, handed=0, returned=0, done=0, failed=0)
