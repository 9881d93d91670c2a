"""Lets schedules run by the clock: whatever instance does it, and whatever stops meanwhile, each tick gets one run.

What becomes of a tick is one transaction: its run, the row that says so, and where the schedule stands. It holds the
locks of its schedules and looks at them anew, so that of two instances that hear the clock strike, the second one finds
nothing to do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paddleflow.problems import (
    Aborted,
    DeadlineExceeded,
    Problem,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)
from pf_kit.changes import ChangeKind
from pf_kit.clock import Clock
from pf_kit.unit import Change, Database
from pf_pipeline.schedules.domain import Schedule, ScheduleChanged, Tick, TickKey
from pf_pipeline.schedules.judging import Judged, is_due, judge, passed_over, runs_wanted
from pf_pipeline.schedules.ports import RunMaker, Wanted
from pf_pipeline.schedules.store import ScheduleStore, schedule_lock

logger = logging.getLogger(__name__)

TOGETHER = 100
"""Schedules in one transaction."""
PAUSE = 1.0
"""Seconds between two looks at what waits until a run is over, and for schedules that others made due."""
BREATH = 0.02
"""Seconds until it is looked again for what the clock of the database does not call due yet."""
TRANSIENT = (Unavailable, Aborted, DeadlineExceeded, ResourceExhausted, Unauthenticated)
"""What another attempt may not meet again. It says nothing of a schedule; the last one is about a token of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticker:
    """Lets schedules run by the clock."""

    database: Database
    store: ScheduleStore
    runs: RunMaker
    clock: Clock

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        while True:
            try:
                await self.step()
                pause = await self.patience()
            except Problem as problem:
                logger.warning("schedules have to wait", extra={"reason": str(problem)})
                pause = PAUSE
            await asyncio.sleep(pause)

    async def step(self) -> int:
        """Settles what is due; tells of how many schedules."""
        settled = await self._settle_free()
        while due := await self.store.due(self.database.newest, self.clock.now(), TOGETHER):
            if not (done := await self.settle(due)):
                break
            settled += done
        return settled

    async def patience(self) -> float:
        """Seconds until the next tick, but not many."""
        wake = await self.store.next_wake(self.database.newest)
        ahead = (wake - self.clock.now()).total_seconds() if wake else PAUSE
        return min(max(ahead, BREATH), PAUSE)

    async def settle(self, ids: Sequence[str]) -> int:
        """Settles what is due of some schedules; tells of how many."""
        try:
            refusals = await self.runs.refusals(await self.store.schedules(self.database.newest, ids))
            return await self._settle(ids, refusals)
        except TRANSIENT:
            raise
        except Problem as problem:
            if len(ids) == 1:
                return await self._settle(ids, {ids[0]: problem})
            # The run of one of them could not be made, which is no reason for the others to wait.
            return sum([await self.settle([id_]) for id_ in ids])

    async def _settle_free(self) -> int:
        """Settles ticks that waited until a run was over."""
        settled, after = 0, ""
        while blocked := await self.store.blocked(self.database.newest, after, TOGETHER):
            after = blocked[-1].id
            active = await self.runs.active(self.database.newest, [each.id for each in blocked])
            if free := [each.id for each in blocked if active.get(each.id, 0) < each.rule.concurrency]:
                settled += await self.settle(free)
        return settled

    async def _settle(self, ids: Sequence[str], refusals: Mapping[str, Problem]) -> int:
        async with self.database.change(*map(schedule_lock, ids)) as change:
            judged = await self._judge(change, ids, refusals)
            await self._make_runs(change, judged)
            await self._save(change, judged)
        return len(judged)

    async def _judge(self, change: Change, ids: Sequence[str], refusals: Mapping[str, Problem]) -> Sequence[Judged]:
        due = [each for each in await self.store.schedules(change, ids) if is_due(each, change.time)]
        limited = [each.id for each in due if each.rule.concurrency]
        active = await self.runs.active(change, limited) if limited else {}

        def of(schedule: Schedule, settled: Sequence[TickKey]) -> Judged:
            return judge(schedule, change.time, active.get(schedule.id, 0), refusals.get(schedule.id), settled)

        judged = [of(schedule, []) for schedule in due]
        # Somebody may have asked for runs of ticks that were to come later.
        settled = [tick.key for tick in await self.store.ticks(change, [key for each in judged for key in each.keys])]
        return [of(schedule, settled) for schedule in due] if settled else judged

    async def _make_runs(self, change: Change, judged: Sequence[Judged]) -> None:
        wanted = [each for one in judged for each in runs_wanted(one)]
        skipped = [each for one in judged for each in passed_over(one)]
        ticks = _ticks(wanted, await self.runs.make(change, wanted) if wanted else [], skipped=False)
        ticks += _ticks(skipped, await self.runs.pass_over(change, skipped) if skipped else [], skipped=True)
        if ticks:
            await self.store.keep_ticks(change, ticks)
        for one in judged:
            if one.decision.stop:
                await self.runs.stop_oldest(change, one.schedule.id, one.decision.stop)

    async def _save(self, change: Change, judged: Sequence[Judged]) -> None:
        saved = await self.store.save(change, [each.after for each in judged])
        for before, schedule in zip(judged, saved, strict=True):
            if _told(before.schedule) != _told(schedule):
                change.emit(ScheduleChanged(ChangeKind.UPDATED, schedule))


def _ticks(wanted: Sequence[Wanted], runs: Sequence[str], *, skipped: bool) -> list[Tick]:
    return [Tick(TickKey(each.schedule.id, each.time), run, skipped) for each, run in zip(wanted, runs, strict=True)]


def _told(schedule: Schedule) -> tuple[str, str]:
    """What others are told of when it changes; of its runs they are told anyway."""
    return schedule.standing.state, schedule.standing.message
