"""A shard as the program has it that trains with it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Self, TypedDict

from paddleflow.models.shards import DatasetPlan, LeasedShard, ShardLease

LEFT = "the trainer left it before it was done"


class ShardOptions(TypedDict, total=False):
    """How a dataset is handed out, and how to wait for it. All trainers of a job say the same of a dataset."""

    total: int
    """How many records there are; left out if there are items."""
    size: int
    """Records, or items, of a shard; one if it is left out."""
    items: Sequence[str]
    """Files, or whatever the trainer understands."""
    passes: int
    """How often to go through all of it; once if it is left out."""
    lease: float
    """Seconds after which a shard is another trainer's if its own is not heard of; 60 if it is left out."""
    retries: int
    """How often a shard may fail in a pass before it is left out of it; 3 if it is left out."""
    seed: int
    """Another order of shards in each pass, the same for the same seed."""
    pass_number: int
    """End with this pass; all passes if it is left out."""
    longest: float
    """Seconds after which a shard is given up for others although its trainer lives; never if it is left out."""
    patience: float
    """Seconds for which to go on trying while the service is away; for ever if it is left out."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to become of a shard that is not done."""

    failed: bool
    reason: str


class Shard:
    """A part of the data that this trainer has, until its loop comes round. To iterate it gives its records.

    Used as a context it fails when its block does, with the reason.
    """

    def __init__(self, leased: LeasedShard, begun: float) -> None:
        """`begun` is when it was leased, in `time.monotonic` seconds."""
        self.lease: ShardLease = leased.lease
        self.first = leased.first
        self.count = leased.count
        self.items = leased.items
        """Its items, if the dataset has any."""
        self.failures = leased.failures
        """How often it failed before in this pass."""
        self.lost = False
        """True if somebody else has it by now: what is learned from it counts for nothing."""
        self.closed = False
        """True once the loop came round: it cannot be lost any more."""
        self.begun = begun
        self.verdict: Verdict | None = None
        """None: it is done when the loop comes round."""

    @property
    def number(self) -> int:
        """In the dataset, from 0."""
        return self.lease.number

    @property
    def pass_number(self) -> int:
        """The pass over the data that it belongs to, from 1."""
        return self.lease.pass_number

    @property
    def records(self) -> range:
        """Numbers of its records, or places of its items."""
        return range(self.first, self.first + self.count)

    def fail(self, reason: str = "") -> None:
        """Says that it cannot be trained with. Some trainer gets it again, unless that happened too often."""
        self.verdict = Verdict(failed=True, reason=reason)

    def give_back(self, reason: str = "") -> None:
        """Says that there is no more time for it: another trainer gets it, and nothing is counted against it."""
        self.verdict = Verdict(failed=False, reason=reason)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int | str]:
        return iter(self.items or self.records)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self.verdict is None:
            self.fail(f"{type(error).__name__}: {error}")

    def __repr__(self) -> str:
        return f"<shard {self.number} of {self.lease.dataset}, pass {self.pass_number}>"


def plan_of(name: str, options: ShardOptions) -> DatasetPlan:
    """What the service is told of a dataset."""
    return DatasetPlan(
        name=name,
        total=options.get("total", 0),
        size=options.get("size", 0),
        passes=options.get("passes", 1),
        lease=timedelta(seconds=options.get("lease", 60.0)),
        retries=options.get("retries", 3),
        seed=options.get("seed"),
    )


def too_old(shard: Shard, options: ShardOptions, now: float) -> bool:
    """True if it is to be given up for others."""
    return now - shard.begun > options.get("longest", math.inf)
