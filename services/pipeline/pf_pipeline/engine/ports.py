"""What whoever drives runs needs from elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pf_kit.unit import Change
from pf_pipeline.engine.core.happening import Event, Halt, Judge, Launch, Read, ReadResults
from pf_pipeline.engine.core.words import Words
from pf_pipeline.plans.domain import Plan
from pf_pipeline.runs.domain import Order, Run
from pf_pipeline.runs.store import Turn

Tell = Callable[[str, Event], None]
"""Says that something happened to the run of an id. Returns at once."""


@dataclass(frozen=True, slots=True)
class Start:
    """A step that is to begin."""

    run: Run
    plan: Plan
    launch: Launch
    epoch: int
    """Higher than that of all who drove the run before."""


@dataclass(frozen=True, slots=True)
class End:
    """A step that is to end."""

    run: Run
    halt: Halt
    epoch: int
    """See `Start`."""


class Executor(Protocol):
    """Runs steps. What becomes of them it tells; it may tell it more than once, and late.

    What cannot be done now is tried again until it is done, or is told to have failed.
    """

    async def start(self, steps: Sequence[Start]) -> None:
        """Lets steps begin. Of one that has begun before it is told where it stands."""

    async def end(self, steps: Sequence[End]) -> None:
        """Lets steps end."""

    async def watch(self) -> None:
        """Tells what becomes of jobs, for ever."""


class Library(Protocol):
    """The port to files, and to results that may be used again. Answers are events for the run; a passing failure is
    tried again, one that lasts is told.
    """

    async def read(self, run: Run, plan: Plan, wanted: Read) -> Event:
        """Reads files of the main filesystem."""

    async def read_results(self, run: Run, plan: Plan, wanted: ReadResults) -> Event:
        """Reads the small results of a step."""

    def judge(self, run: Run, plan: Plan, wanted: Judge) -> AsyncIterator[Event]:
        """Asks the cache. Says to wait while the same is being done elsewhere, and more when it is over."""


class Chronicle(Protocol):
    """What else is kept of what runs did: artifact events, cached results, notices."""

    async def record(self, change: Change, turns: Sequence[Turn]) -> None:
        """Keeps it in the same commit as the turns."""

    def kept(self, turns: Sequence[Turn]) -> None:
        """The commit came through."""


class Language(Protocol):
    """The language, as whoever drives runs needs it."""

    def plan(self, order: Order) -> Plan:
        """The plan of an order. It was accepted, so there is one."""

    def words(self, run: Run, plan: Plan) -> Words:
        """How templates become values in a run."""


Fence = Callable[[Change], Awaitable[None]]
"""Raises Aborted inside of a change if another instance drives runs by now."""
