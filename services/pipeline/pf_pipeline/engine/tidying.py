"""Removes what is left of runs that are forgotten, and forgets those that need not be kept any longer."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta

from paddleflow.problems import Problem
from pf_kit.clock import Clock
from pf_kit.unit import Database
from pf_pipeline.artifacts.ports import Ask, Fault, Files, Pending
from pf_pipeline.engine.ports import Fence
from pf_pipeline.engine.trying import LASTING
from pf_pipeline.runs.domain import Leaving
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.store import RunStore, run_lock

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 2.0
"""Between two looks."""
BATCH = 50


@dataclass(slots=True, kw_only=True)
class Tidying:
    """What is done for runs that are over, by the instance that drives runs."""

    database: Database
    store: RunStore
    runs: Runs
    files: Files
    fence: Fence
    clock: Clock
    kept: timedelta
    """How long a run is kept when it is over."""
    _last: str = ""
    """The run whose artifacts were looked at last: those of filesystems that do not answer are not looked at again
    before all others were.
    """

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        while True:
            try:
                await self.step()
            except Problem as problem:
                logger.warning("it is tidied up later", extra={"detail": problem.message})
            await asyncio.sleep(PAUSE_SECONDS)

    async def step(self) -> None:
        """Forgets some runs, and removes some files."""
        expired = await self.store.expired(self.database.newest, self.clock.now() - self.kept, BATCH)
        if expired:
            async with self.database.change(*(run_lock(run.id) for run in expired)) as change:
                await self.fence(change)
                await self.runs.forget(change, expired)
        leavings = await self.store.leavings(self.database.newest, self._last, BATCH)
        self._last = leavings[-1].run if len(leavings) == BATCH else ""
        # At once: who does not answer is waited for once, and not once for each.
        gone = await asyncio.gather(*map(self._is_gone, leavings))
        if cleared := [leaving.run for leaving, is_gone in zip(leavings, gone, strict=True) if is_gone]:
            async with self.database.change() as change:
                await self.fence(change)
                await self.store.clear(change, cleared)

    async def _is_gone(self, leaving: Leaving) -> bool:
        """True if there is nothing left, or nothing that could be removed: its filesystem may be gone."""
        try:
            (told,) = await self.files.remove(Ask(leaving.owner, leaving.filesystem_id), [leaving.path])
        except LASTING as problem:
            logger.info("artifacts stay", extra={"run": leaving.run, "detail": problem.message})
            return True
        except Problem as problem:
            # A filesystem that does not answer must not hold up what lies in others.
            logger.warning("artifacts are removed later", extra={"run": leaving.run, "detail": problem.message})
            return False
        if isinstance(told, Fault):
            logger.info("artifacts stay", extra={"run": leaving.run, "detail": told.problem.message})
        return not isinstance(told, Pending)
