"""Where workloads are kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pf_kit.unit import Change, View
from pf_queue.admission.domain import Decided, DecisionKind, Effects, Key, Record
from pf_queue.resources import Resources


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """Which decisions to list; what is None or empty matches all."""

    queues: frozenset[str] | None = None
    job: str = ""
    attempt: int = 0
    """0 matches all."""
    kinds: frozenset[DecisionKind] = frozenset()
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class OverFilter:
    """Which workloads that are over to list; what is None or empty matches all."""

    queue: str
    user: str = ""
    since: datetime | None = None
    """Only those that ended then or later."""


@dataclass(frozen=True, slots=True)
class OverPlace:
    """A place in a list of workloads that are over."""

    ended: datetime
    id: str


@dataclass(frozen=True, slots=True)
class Over:
    """A workload that is over."""

    record: Record
    ended: datetime

    @property
    def place(self) -> OverPlace:
        return OverPlace(self.ended, self.record.id)


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A line of the decision log, as it is kept."""

    id: int
    decided: Decided


class WorkloadStore(Protocol):
    """The port to the rows of workloads. Only the leader of admission writes."""

    async def unfinished(self, view: View) -> Sequence[Record]:
        """All that are not over."""

    async def unfinished_in(self, view: View, queue: str) -> Sequence[Record]:
        """Those of a queue that are not over."""

    async def over(self, view: View, ids: Sequence[str]) -> Sequence[Record]:
        """Those of these that are over, as far as they are kept."""

    async def last_over(self, view: View, key: Key) -> Record | None:
        """An attempt that is over, as far as it is kept; for attempt 0 the last of the job."""

    async def over_in_queue(
        self, view: View, chosen: OverFilter, after: OverPlace | None, limit: int
    ) -> Sequence[Over]:
        """Those of a queue that are over, newest first, as far as they are kept."""

    async def in_queue(self, view: View, queue: str) -> bool:
        """True if a queue has workloads that are not over."""

    async def used(self, view: View, queues: Collection[str]) -> Mapping[str, Resources]:
        """What is held in each of these queues and in those below it; nothing where it is absent."""

    async def write(self, change: Change, effects: Effects) -> None:
        """Keeps what has changed."""

    async def decisions(
        self, view: View, chosen: DecisionFilter, before: int | None, limit: int
    ) -> Sequence[StoredDecision]:
        """The decisions with numbers below `before`, newest first."""

    async def tree(self, view: View) -> tuple[int, ...]:
        """Changes whenever a queue or a cluster does."""
