"""What the driving of jobs needs from other services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from paddleflow.problems import Problem
from pf_job.jobs.life import Ending, Grant
from pf_job.runtimes.port import Machine


@dataclass(frozen=True, slots=True, order=True)
class AttemptKey:
    """One attempt of a job, for ever."""

    job: str
    attempt: int


@dataclass(frozen=True, slots=True)
class RoleWish:
    """What one role of an attempt asks for."""

    role: str
    least: int
    most: int
    step: int
    each: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What an attempt asks for."""

    key: AttemptKey
    queue: str
    user: str
    priority: int
    roles: Sequence[RoleWish]
    grace: timedelta
    protected: timedelta
    revision: int
    """Grows with each change of what the attempt asks for."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of attempts that were submitted. Those that are not named wait."""

    refused: Mapping[AttemptKey, Problem] = field(default_factory=dict)
    """Why some are not taken, and never will be."""
    admitted: Mapping[AttemptKey, Grant] = field(default_factory=dict)
    """What some hold, for which there was room at once."""
    older: Mapping[AttemptKey, int] = field(default_factory=dict)
    """The revisions that the queue knows of those that ask for something else by now."""


@dataclass(frozen=True, slots=True)
class GivenBack:
    """An attempt that holds nothing any more."""

    key: AttemptKey
    grant: str
    """What it held; empty if it waited."""
    ending: Ending
    """Why."""


@dataclass(frozen=True, slots=True)
class Left:
    """What an attempt keeps of what it holds."""

    key: AttemptKey
    grant: str
    """What it holds."""
    surplus: Mapping[str, int]
    """Replicas above the minimum, by role."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How an attempt stands in its queue."""

    key: AttemptKey
    grant: Grant | None
    """What it holds; None if it waits."""
    evicting: bool
    left: Mapping[str, int] | None = None
    """The replicas that it is to be left with, by role, if it was told to give back some."""
    revision: int = 0
    """Of what the queue knows that it asks for."""


class Admission(Protocol):
    """The port to the queue service. All of it may be repeated. Raises Unavailable if it is not known what was done."""

    async def submit(self, wishes: Sequence[Wish]) -> Submitted:
        """Lets attempts wait in their queues. One that is known stays as it is."""

    async def revise(self, wishes: Sequence[Wish]) -> None:
        """Says what attempts ask for by now. It matters to those that wait, unless the queue knows of a later wish;
        all others are passed over.
        """

    async def release(self, given: Sequence[GivenBack]) -> Mapping[AttemptKey, Grant | None]:
        """Gives back what attempts hold, and takes back those that wait.

        Tells of those that hold something else than was said what it is: they are not released. None is told of those
        that the queue did not know to be pushed out: they are released, and do not wait again. Other unknown ones are
        passed over.
        """

    async def resize(self, left: Sequence[Left]) -> Mapping[AttemptKey, Grant]:
        """Gives back surplus of attempts, and tells what they hold then. One that is not named holds nothing any more,
        or something else than was said.
        """

    async def report_running(self, running: Mapping[AttemptKey, str]) -> None:
        """Says that attempts run with what they hold."""

    async def report_machines(self, cluster: str, machines: Sequence[Machine]) -> None:
        """Says which machines a cluster has: all of them."""

    async def standings(self) -> Sequence[Standing]:
        """All attempts that wait or hold something."""
