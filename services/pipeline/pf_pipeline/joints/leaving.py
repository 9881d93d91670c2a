"""Lets go of what deleted users had: whoever gets a name next gets none of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from paddleflow.problems import Problem
from pf_kit.changes import ChangeKind
from pf_kit.departures import departure_entry
from pf_kit.events import Event
from pf_kit.unit import Change, Database
from pf_kit.users import departed
from pf_pipeline.engine.ports import Fence
from pf_pipeline.owners import Owner, is_gone
from pf_pipeline.pipelines.domain import PipelineChanged
from pf_pipeline.pipelines.store import PipelineStore, pipeline_lock
from pf_pipeline.runs.domain import Run
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.states import RUN_OVER, Stop
from pf_pipeline.runs.store import RunStore, run_lock
from pf_pipeline.schedules.domain import ScheduleChanged
from pf_pipeline.schedules.store import ScheduleStore, schedule_lock

logger = logging.getLogger(__name__)

SERVICE = "pipeline"
LOOK_SECONDS = 30.0
"""Between two looks, if no user is heard to be deleted: a run may be taken while its owner is. Nothing depends on them:
what belonged to somebody else is not seen before them either."""
STOPPING_SECONDS = 2.0
"""The same, while something of somebody who left is about to end, or nobody could be asked."""
BATCH = 100


class AllUsers(Protocol):
    """The port to users."""

    async def all(self) -> Mapping[str, datetime]:
        """The names of all, and when each was added. Raises Unavailable if nobody can tell."""


class Belongings(Protocol):
    """The port to what users have."""

    async def owners(self) -> Sequence[Owner]:
        """Those who have something."""

    async def let_go(self, owner: Owner) -> bool:
        """Stops and forgets what somebody had who is there no more; True if something of it is about to end."""


class UserEvents:
    """Takes in the events of the service that keeps users."""

    def __init__(self, fence: Fence, left: asyncio.Event) -> None:
        """`left` is set when a user was deleted, or may have been."""
        self._fence = fence
        self._left = left

    def heeds(self, event: Event) -> bool:
        return departed(event) is not None

    def locks(self, _events: Sequence[Event]) -> Sequence[str]:
        return ()

    async def apply(self, change: Change, events: Sequence[Event]) -> None:
        await self._fence(change)
        if any(departed(event) is not None for event in events):
            self._left.set()

    async def gather(self) -> None:
        """Nothing: users are asked for by whoever lets go."""

    async def resync(self, change: Change, state: None) -> None:  # noqa: ARG002 - see `gather`
        await self._fence(change)
        self._left.set()


@dataclass(frozen=True, slots=True)
class Leaving:
    """Compares owners with users."""

    users: AllUsers
    belongings: Sequence[Belongings]
    left: asyncio.Event
    """Set when a user was deleted, or may have been."""

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        while True:
            self.left.clear()
            try:
                pause = STOPPING_SECONDS if await self.step() else LOOK_SECONDS
            except Problem as problem:
                logger.warning("what deleted users had is let go of later", extra={"detail": problem.message})
                pause = STOPPING_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self.left.wait()

    async def step(self) -> bool:
        """Lets go of what there is of owners who are gone; True if something of it is about to end."""
        # Before those who are there: whoever owns something by now and is not among these is gone, whatever any clock
        # says.
        owned = [(each, await each.owners()) for each in self.belongings]
        known = await self.users.all() if any(owners for _, owners in owned) else {}
        gone = [(each, owner) for each, owners in owned for owner in owners if is_gone(owner, known)]
        return any([await each.let_go(owner) for each, owner in gone])


@dataclass(frozen=True, slots=True)
class OwnedRuns:
    """Fulfils `Belongings`: runs, with all that is kept of them. Their artifacts stay in their filesystems."""

    database: Database
    store: RunStore
    runs: Runs
    fence: Fence

    async def owners(self) -> Sequence[Owner]:
        return await self.store.owners(self.database.newest)

    async def let_go(self, owner: Owner) -> bool:
        last, ends = "", False
        while page := await self.store.owned(self.database.newest, owner, last, BATCH):
            last = page[-1].id
            await self._stop(
                [run for run in page if run.life.state not in RUN_OVER and run.life.stop is not Stop.FORCE]
            )
            over = [run for run in page if run.life.state in RUN_OVER]
            ends = ends or len(over) < len(page)
            await self._forget(over)
        return ends

    async def _stop(self, runs: Sequence[Run]) -> None:
        if runs:
            async with self.database.change(*(run_lock(run.id) for run in runs)) as change:
                await self.fence(change)
                for run in runs:
                    by = f"the service, since the user {run.owner}, whose run it was, has been deleted"
                    await self.runs.want_stop(change, run.id, by, force=True)
                    change.audit(departure_entry(SERVICE, f"run/{run.id}"))

    async def _forget(self, runs: Sequence[Run]) -> None:
        if runs:
            async with self.database.change(*(run_lock(run.id) for run in runs)) as change:
                await self.fence(change)
                await self.runs.forget(change, runs)


def _goes_on(run: Run) -> bool:
    return run.life.state not in RUN_OVER and run.life.stop is not Stop.FORCE


@dataclass(frozen=True, slots=True)
class OwnedSchedules:
    """Fulfils `Belongings`."""

    database: Database
    store: ScheduleStore
    fence: Fence

    async def owners(self) -> Sequence[Owner]:
        return await self.store.owners(self.database.newest)

    async def let_go(self, owner: Owner) -> bool:
        while found := await self.store.owned(self.database.newest, owner, BATCH):
            async with self.database.change(*(schedule_lock(each.id) for each in found)) as change:
                await self.fence(change)
                for each in found:
                    await self.store.remove(change, each.id)
                    change.emit(ScheduleChanged(ChangeKind.DELETED, replace(each, version=each.version + 1)))
                    change.audit(departure_entry(SERVICE, f"schedule/{each.id}"))
        return False


@dataclass(frozen=True, slots=True)
class OwnedPipelines:
    """Fulfils `Belongings`."""

    database: Database
    store: PipelineStore
    fence: Fence

    async def owners(self) -> Sequence[Owner]:
        return await self.store.owners(self.database.newest)

    async def let_go(self, owner: Owner) -> bool:
        while found := await self.store.owned(self.database.newest, owner, BATCH):
            async with self.database.change(*(pipeline_lock(each.id) for each in found)) as change:
                await self.fence(change)
                for each in found:
                    version = await self.store.remove(change, each.number)
                    change.emit(PipelineChanged(ChangeKind.DELETED, each, version))
                    change.audit(departure_entry(SERVICE, f"pipeline/{each.id}"))
        return False
