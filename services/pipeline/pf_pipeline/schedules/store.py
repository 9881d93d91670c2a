"""Where schedules are kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from pf_kit.unit import Change, View
from pf_pipeline.owners import Owner
from pf_pipeline.schedules.domain import Schedule, ScheduleFilter, Tick, TickKey

MOST_USERS = 20
"""Schedules that are named to whoever wants to forget a pipeline."""


def schedule_lock(id_: str) -> str:
    """Held by every change of a schedule, so that the order of its events is the order of commits."""
    return f"schedule/{id_}"


class ScheduleStore(Protocol):
    """The port to the rows of schedules. Whoever writes holds the lock of the schedule."""

    async def new_id(self, change: Change) -> str:
        """An id that no schedule ever had."""

    async def add(self, change: Change, schedule: Schedule) -> Schedule:
        """Keeps a new schedule; returns it with its number, times and version. Raises ScheduleExists if its owner has
        one of its name.
        """

    async def schedules(self, view: View, ids: Collection[str]) -> Sequence[Schedule]:
        """The schedules of these ids that there are, by id."""

    async def page(self, view: View, chosen: ScheduleFilter, before: int, limit: int) -> Sequence[Schedule]:
        """The schedules with numbers below one, newest first; 0 means from the newest on."""

    async def save(self, change: Change, schedules: Sequence[Schedule]) -> Sequence[Schedule]:
        """Keeps where schedules stand that there are; returns them with new versions."""

    async def remove(self, change: Change, id_: str) -> None:
        """Forgets a schedule and its ticks."""

    async def owners(self, view: View) -> Sequence[Owner]:
        """The users who own schedules."""

    async def owned(self, view: View, owner: Owner, limit: int) -> Sequence[Schedule]:
        """Schedules of a user, the oldest first."""

    async def due(self, view: View, now: datetime, limit: int) -> Sequence[str]:
        """Ids of the schedules that are to be looked at, those first that wait longest."""

    async def next_wake(self, view: View) -> datetime | None:
        """When the next schedule is to be looked at."""

    async def blocked(self, view: View, after: str, limit: int) -> Sequence[Schedule]:
        """The schedules with ids after one that have ticks which wait until a run is over, by id."""

    async def ticks(self, view: View, keys: Collection[TickKey]) -> Sequence[Tick]:
        """What became of ticks; in no order, and without those that became nothing yet."""

    async def keep_ticks(self, change: Change, ticks: Sequence[Tick]) -> None:
        """Keeps what became of ticks. Raises Conflict if something became of one before."""

    async def replace_ticks(self, change: Change, ticks: Sequence[Tick]) -> None:
        """Keeps what became of ticks, in the place of what became of them before."""

    async def users(self, view: View, pipeline_id: str, version: int) -> Sequence[str]:
        """Names of schedules that are not over and run a version of a pipeline, at most `MOST_USERS`; 0 stands for any
        version.
        """
