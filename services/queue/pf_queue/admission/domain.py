"""Workloads as admission keeps them, and what happens to them. All times are microseconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from pf_queue.admission.core.workloads import Why
from pf_queue.resources import Resources


class WorkloadState(StrEnum):
    """Where a workload stands."""

    PENDING = "pending"
    ADMITTED = "admitted"
    EVICTING = "evicting"
    """Has been told to give back all it holds."""
    HELD = "held"
    """Was sent back too often; waits for somebody to resume it."""
    RELEASED = "released"
    SET_ASIDE = "set_aside"
    """Admission goes on without it; never stored."""


class Outcome(StrEnum):
    """How an attempt ended."""

    FINISHED = "finished"
    EVICTED = "evicted"
    CANCELLED = "cancelled"
    NOT_STARTED = "not_started"


@dataclass(frozen=True, slots=True)
class Key:
    """One attempt of a job, for ever."""

    job: str
    attempt: int

    def __str__(self) -> str:
        return f"{self.job}/{self.attempt}"

    @classmethod
    def parse(cls, text: str) -> Key:
        job, _, attempt = text.rpartition("/")
        return cls(job, int(attempt))

    @property
    def next(self) -> Key:
        return Key(self.job, self.attempt + 1)

    @property
    def first_version(self) -> int:
        """Of the facts about an attempt; there is room for a million of each."""
        return self.attempt * 1_000_000


@dataclass(frozen=True, slots=True)
class RoleRequest:
    """What one role of a job needs."""

    role: str
    least: int
    most: int
    step: int
    per_replica: Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What is asked for."""

    key: Key
    queue: str
    user: str
    priority: int = 0
    roles: tuple[RoleRequest, ...]
    grace: int = 0
    min_run: int = 0
    revision: int = 0
    """Grows with each change of what is asked for, as whoever asks counts them."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """So many of a role."""

    role: str
    base: int
    """What the workload cannot run without."""
    surplus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A workload as it stands."""

    spec: Spec
    state: WorkloadState = WorkloadState.PENDING
    number: int
    """Grows with each submission; a later attempt keeps that of the first, and so its place."""
    submitted: int
    not_before: int = 0
    requeues: int = 0
    cluster: str = ""
    grant: str = ""
    """Names what it holds; empty if it holds nothing."""
    grant_version: int = 0
    admission: int = 0
    """Grows with each admission of the pool."""
    since: int = 0
    """When it was admitted."""
    start_by: int = 0
    running: int | None = None
    surplus: tuple[int, ...] = ()
    shrinking: tuple[int, ...] = ()
    leave_by: int = 0
    """When the grace of what it must give back ends."""
    leaves_for: str = ""
    """The workload it gives back for; empty for none."""
    kept_until: int = 0
    """Until when room is kept for it; 0 if none is."""
    starving: bool = False
    """True if the room is kept because it was passed over for too long."""
    outcome: Outcome | None = None
    version: int = 0
    """Grows with each fact about the job, over its attempts."""
    fault: str = ""
    """Why it is set aside; empty if it is not."""

    @property
    def id(self) -> str:
        return str(self.spec.key)

    @property
    def holds(self) -> bool:
        return self.state in (WorkloadState.ADMITTED, WorkloadState.EVICTING)

    @property
    def waits(self) -> bool:
        return self.state in (WorkloadState.PENDING, WorkloadState.HELD)

    @property
    def base(self) -> tuple[Replicas, ...]:
        """What it cannot run without."""
        return tuple(Replicas(role.role, role.least, 0) for role in self.spec.roles)

    def part(self, counts: tuple[int, ...] | None) -> tuple[Replicas, ...]:
        """So much of the surplus of each role; None: all that it holds."""
        if counts is not None:
            roles = (role.role for role in self.spec.roles)
            return tuple(Replicas(role, 0, count) for role, count in zip(roles, counts, strict=bool(counts)) if count)
        if not self.surplus:
            return self.base
        return tuple(
            Replicas(role.role, role.least, above) for role, above in zip(self.spec.roles, self.surplus, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Submitted:
    """A workload waits."""

    record: Record


@dataclass(frozen=True, slots=True)
class Admitted:
    """A workload may start, or has more than before."""

    record: Record


@dataclass(frozen=True, slots=True)
class Evicting:
    """A workload must give back replicas."""

    record: Record
    counts: tuple[int, ...] | None
    """Of the surplus of each role; None for all of it."""
    why: Why
    beneficiary: str


@dataclass(frozen=True, slots=True)
class Released:
    """A workload has given back."""

    record: Record
    counts: tuple[int, ...] | None
    """As above."""


@dataclass(frozen=True, slots=True)
class Requeued:
    """A workload waits again, as its next attempt."""

    record: Record


@dataclass(frozen=True, slots=True)
class Updated:
    """A workload that waits asks for something else."""

    record: Record


WorkloadFact: TypeAlias = Submitted | Admitted | Evicting | Released | Requeued | Updated


class DecisionKind(StrEnum):
    """What was decided about a workload."""

    ADMIT = "admit"
    GROW = "grow"
    EVICT = "evict"
    KEEP = "keep"
    KEEP_NO_MORE = "keep_no_more"
    REQUEUE = "requeue"
    HOLD = "hold"


@dataclass(frozen=True, slots=True)
class Decided:
    """A line of the decision log."""

    time: int
    key: Key
    queue: str
    kind: DecisionKind
    replicas: tuple[Replicas, ...] = ()
    """What it is about; none if the workload waits again."""
    why: Why | None = None
    beneficiary: str = ""

    @property
    def whole(self) -> bool:
        """True if it is about all of the workload, and not only about surplus."""
        return any(each.base for each in self.replicas)


@dataclass(slots=True)
class Effects:
    """What inputs and decisions have changed, to be stored together."""

    changed: dict[str, Record] = field(default_factory=dict)
    added: set[str] = field(default_factory=set)
    """Those of them that are new."""
    facts: list[WorkloadFact] = field(default_factory=list)
    decided: list[Decided] = field(default_factory=list)
    revised: set[str] = field(default_factory=set)
    """Those that have changed, and ask for something else than before."""

    def __bool__(self) -> bool:
        return bool(self.changed or self.facts or self.decided)


@dataclass(frozen=True, slots=True)
class Patience:
    """How admission treats those who do not start; times in microseconds."""

    start_within: int = 15 * 60 * 1_000_000
    """The time an admitted workload has until it should run."""
    backoff: int = 60 * 1_000_000
    """The first wait of one that was not started; it doubles each time."""
    longest_backoff: int = 3600 * 1_000_000
    requeues: int = 5
    """After so many a workload is held."""
