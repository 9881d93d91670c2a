"""Datasets of jobs, cut into shards that trainers lease."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from paddleflow.models.job_specs import Role


@dataclass(frozen=True, slots=True)
class DatasetPlan:
    """How a dataset is handed out."""

    name: str
    total: int = 0
    """Records: 0 to `total` - 1. 0 where its items are listed instead."""
    size: int = 0
    """Records, or items, of a shard; 0 means 1."""
    passes: int = 1
    lease: timedelta = timedelta(seconds=60)
    retries: int = 3
    """How often a shard may fail in a pass and be leased again."""
    seed: int | None = None
    """If given, the order of shards is another in each pass; the same seed makes the same orders."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset, and how far its trainers are."""

    plan: DatasetPlan
    shards: int
    """How many it has."""
    pass_number: int
    """The pass under way, from 1; more than there are to be when it is over."""
    todo: int
    """Shards of this pass that are to be leased."""
    leased: int
    done: int
    failed: int
    """Shards of this pass that failed too often, and are left out."""
    failed_in_all: int = 0
    """In all passes together."""
    over: bool = False
    """True when all passes are complete."""
    create_time: datetime | None = None
    update_time: datetime | None = None

    @property
    def name(self) -> str:
        return self.plan.name


@dataclass(frozen=True, slots=True)
class ShardLease:
    """One lease of one shard, for ever."""

    dataset: str
    pass_number: int
    number: int
    epoch: int
    """Grows with each lease of the dataset. Of several leases of a shard only the last one counts."""


@dataclass(frozen=True, slots=True)
class LeasedShard:
    """A shard that the caller has."""

    lease: ShardLease
    first: int
    """Its first record, or the place of its first item."""
    count: int
    items: tuple[str, ...] = ()
    remaining: timedelta = timedelta()
    """How long the lease lasted when it was given."""
    failures: int = 0
    """How often it failed before in this pass."""


@dataclass(frozen=True, slots=True)
class ShardWait:
    """All shards of the pass are leased; ask again after this time."""

    time: timedelta


@dataclass(frozen=True, slots=True)
class PassOver:
    """The pass that was asked for is complete."""

    pass_number: int
    """The one that is under way."""


@dataclass(frozen=True, slots=True)
class DatasetOver:
    """All passes are complete."""


LeaseOutcome = LeasedShard | ShardWait | PassOver | DatasetOver


class ShardState(StrEnum):
    """Where a shard stands that is neither untouched nor done."""

    UNSPECIFIED = ""
    LEASED = "leased"
    RETURNED = "returned"
    """It was given back, and waits to be leased again."""
    FAILED = "failed"
    """It failed too often, and is left out."""


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """How a shard stands."""

    lease: ShardLease
    """The last one."""
    state: ShardState
    failures: int = 0
    """In this pass."""
    reason: str = ""
    """Why it failed last, or was returned."""
    attempt: int = 0
    role: Role = Role.UNSPECIFIED
    index: int = 0
    """Of the replica that had it last."""
    until: datetime | None = None
    """When the lease ends; when it failed or was returned, if it is not leased."""
    first: int = 0
    count: int = 0
