"""Runs and pipelines, as schedules want them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from paddleflow.problems import Problem, Unavailable, UserNotFound
from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_pipeline.engine.trying import LASTING
from pf_pipeline.owners import Owner, Users, eyes, is_gone
from pf_pipeline.pipelines.sources import version_of, visible
from pf_pipeline.pipelines.store import PipelineStore
from pf_pipeline.runs import ports
from pf_pipeline.runs.domain import Order
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.states import RunState
from pf_pipeline.runs.store import RunStore
from pf_pipeline.runs.taking import Draft, Taking
from pf_pipeline.schedules.domain import Schedule
from pf_pipeline.schedules.ports import Wanted
from pf_pipeline.schedules.store import ScheduleStore

AT_ONCE = 16
"""Orders that are made at one time."""
MOST_ORDERS = 1000
"""Schedules of which it is known what they run, those asked about last: many more than are settled at once."""
WITHOUT_RESULT = frozenset({RunState.FAILED, RunState.TERMINATED})


@dataclass(slots=True)
class ScheduledRuns:
    """Fulfils `RunMaker`."""

    taking: Taking
    runs: Runs
    store: RunStore
    users: Users
    _orders: dict[str, Order] = field(default_factory=dict)
    """What is to be run for each schedule, as it was made for its last tick."""

    async def refusals(self, schedules: Sequence[Schedule]) -> Mapping[str, Problem]:
        places = asyncio.Semaphore(AT_ONCE)
        alike: dict[str, list[Schedule]] = {}
        for schedule in schedules:
            alike.setdefault(_likeness(schedule), []).append(schedule)
        gone = await self._gone({schedule.whose for schedule in schedules})
        found = await asyncio.gather(*(self._order(places, gone, group[0]) for group in alike.values()))
        refused: dict[str, Problem] = {}
        for group, made in zip(alike.values(), found, strict=True):
            for schedule in group:
                if isinstance(made, Problem):
                    refused[schedule.id] = made
                else:
                    # The last ones come last.
                    self._orders.pop(schedule.id, None)
                    self._orders[schedule.id] = replace(made, schedule_id=schedule.id, title=schedule.name)
        for id_ in list(self._orders)[: max(0, len(self._orders) - MOST_ORDERS)]:
            del self._orders[id_]
        return refused

    async def make(self, change: Change, wanted: Sequence[Wanted]) -> Sequence[str]:
        if missing := [each.schedule.id for each in wanted if each.schedule.id not in self._orders]:
            raise Unavailable(f"it is to be asked anew what {missing[0]} runs; try again")
        orders = [(each.schedule.whose, self._order_of(each)) for each in wanted]
        return [run.id for run in await self.runs.create_all(change, orders)]

    async def pass_over(self, change: Change, wanted: Sequence[Wanted]) -> Sequence[str]:
        orders = [(each.schedule.whose, self._order_of(each), each.why) for each in wanted]
        return [run.id for run in await self.runs.create_all_skipped(change, orders)]

    async def active(self, view: View, schedules: Collection[str]) -> Mapping[str, int]:
        return await self.store.active_counts(view, schedules)

    async def stop_oldest(self, change: Change, schedule: str, count: int) -> None:
        for id_ in (await self.store.active_of(change, schedule))[:count]:
            await self.runs.want_stop(change, id_, f"schedule {schedule}", force=False)

    async def failed(self, view: View, runs: Collection[str]) -> Collection[str]:
        known = {run.id: run.life.state for run in await self.store.runs(view, runs)}
        return [id_ for id_ in runs if id_ not in known or known[id_] in WITHOUT_RESULT]

    async def _gone(self, owners: Collection[Owner]) -> Collection[Owner]:
        """Which of these users there are no more."""
        names = {owner.name for owner in owners}
        times = await asyncio.gather(*map(self._since, names))
        known = {name: since for name, since in zip(names, times, strict=True) if since is not None}
        return [owner for owner in owners if is_gone(owner, known)]

    async def _since(self, name: str) -> datetime | None:
        """When the user of a name was added; None if there is none."""
        try:
            return await self.users.since(name)
        except UserNotFound:
            return None

    async def _order(self, places: asyncio.Semaphore, gone: Collection[Owner], schedule: Schedule) -> Order | Problem:
        if schedule.whose in gone:
            return UserNotFound(f"there is no user {schedule.owner!r} any more")
        wanted = ports.Wanted(pipeline_id=schedule.pipeline_id, pipeline_version=schedule.pipeline_version)
        draft = Draft(wanted=wanted, parameters=schedule.parameters)  # type: ignore[arg-type]  # as they were given
        async with places:
            try:
                order, _ = await self.taking.order(schedule.whose, draft)
            except LASTING as problem:
                return problem
        return order

    def _order_of(self, wanted: Wanted) -> Order:
        """What is to be run at a tick. A run that is only passed over may have no order: then its name is all."""
        schedule = wanted.schedule
        order = self._orders.get(schedule.id)
        if order is None:
            order = Order(name=schedule.name, title=schedule.name, schedule_id=schedule.id)
        return replace(order, scheduled_time=wanted.time)


def _likeness(schedule: Schedule) -> str:
    """The same for schedules whose runs are the same."""
    asked = [
        schedule.owner,
        schedule.owner_since.isoformat(),
        schedule.pipeline_id,
        schedule.pipeline_version,
        schedule.parameters,
    ]
    return json.dumps(asked, sort_keys=True, default=list)


@dataclass(frozen=True, slots=True)
class ScheduledPipelines:
    """Fulfils `PipelineBook`."""

    store: PipelineStore

    async def version_of(self, view: View, caller: Principal, pipeline_id: str, version: int) -> int:
        pipeline = await visible(self.store, view, eyes(caller), pipeline_id)
        return (await version_of(self.store, view, pipeline, version)).number


@dataclass(frozen=True, slots=True)
class PipelineUses:
    """Fulfils `Uses` of pipelines: by schedules that are not over."""

    store: ScheduleStore

    async def of(self, view: View, pipeline_id: str, version: int) -> Sequence[str]:
        return await self.store.users(view, pipeline_id, version)
