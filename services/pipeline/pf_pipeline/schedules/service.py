"""What can be done with schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from paddleflow.problems import InvalidArgument, ScheduleNotFound, ScheduleStateConflict, Violation
from pf_kit.changes import ChangeKind
from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_pipeline.owners import Owner, eyes, owns
from pf_pipeline.schedules.domain import (
    OVER,
    TRANSITIONS,
    Rule,
    Schedule,
    ScheduleChanged,
    ScheduleFilter,
    ScheduleState,
    Standing,
)
from pf_pipeline.schedules.ports import PipelineBook
from pf_pipeline.schedules.store import ScheduleStore
from pf_pipeline.schedules.ticks import first_tick

_LATE = timedelta(minutes=1)
"""A start may lie so far back: the request was on its way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A schedule to be made."""

    owner: str
    """Empty: the caller."""
    name: str
    description: str
    pipeline_id: str
    pipeline_version: int
    """0: the newest."""
    parameters: Mapping[str, object]
    rule: Rule
    start: datetime | None
    """None: now."""


class Schedules:
    """The schedules, as callers may use them."""

    def __init__(self, *, store: ScheduleStore, pipelines: PipelineBook) -> None:
        self._store = store
        self._pipelines = pipelines

    async def create(self, change: Change, caller: Principal, owner: Owner, draft: Draft) -> Schedule:
        """Adds a schedule. Raises ScheduleExists, or what is wrong with its pipeline."""
        version = await self._pipelines.version_of(change, caller, draft.pipeline_id, draft.pipeline_version)
        rule = replace(draft.rule, start=draft.start or change.time)
        added = await self._store.add(
            change,
            Schedule(
                id=await self._store.new_id(change),
                owner=owner.name,
                owner_since=owner.since,
                name=draft.name,
                description=draft.description,
                pipeline_id=draft.pipeline_id,
                pipeline_version=version,
                parameters=draft.parameters,
                rule=rule,
                standing=_begun(rule, change.time),
            ),
        )
        change.emit(ScheduleChanged(ChangeKind.CREATED, added))
        return added

    async def get(self, view: View, caller: Principal, id_: str) -> Schedule:
        """The schedule of an id. Raises ScheduleNotFound."""
        for found in await self._store.schedules(view, [id_]):
            if owns(caller, found.whose):
                return found
        raise ScheduleNotFound(f"no schedule {id_[:63]!r}")

    async def page(
        self, view: View, caller: Principal, chosen: ScheduleFilter, before: int, limit: int
    ) -> Sequence[Schedule]:
        """The schedules that the caller may see, newest first."""
        return await self._store.page(view, replace(chosen, seen_by=eyes(caller)), before, limit)

    async def pause(self, change: Change, caller: Principal, id_: str) -> Schedule:
        """Holds a schedule. Raises ScheduleNotFound, or ScheduleStateConflict if it is over."""
        return await self._move(change, caller, id_, ScheduleState.PAUSED, wake=None)

    async def resume(self, change: Change, caller: Principal, id_: str) -> Schedule:
        """Lets a schedule go on. Raises what `pause` does."""
        return await self._move(change, caller, id_, ScheduleState.RUNNING, wake=change.time)

    async def stop(self, change: Change, caller: Principal, id_: str) -> Schedule:
        """Ends a schedule. Raises what `pause` does."""
        return await self._move(change, caller, id_, ScheduleState.TERMINATED, wake=None)

    async def delete(self, change: Change, caller: Principal, id_: str) -> None:
        """Forgets a schedule. Raises ScheduleNotFound, or ScheduleStateConflict if it is not over."""
        found = await self.get(change, caller, id_)
        if found.standing.state not in OVER:
            raise ScheduleStateConflict(f"schedule {id_} is {found.standing.state}; stop it first")
        await self._store.remove(change, id_)
        change.emit(ScheduleChanged(ChangeKind.DELETED, found))

    async def _move(
        self, change: Change, caller: Principal, id_: str, state: ScheduleState, *, wake: datetime | None
    ) -> Schedule:
        found = await self.get(change, caller, id_)
        if found.standing.state is state and state not in OVER:
            return found
        if state not in TRANSITIONS[found.standing.state]:
            raise ScheduleStateConflict(f"schedule {id_} is over: its state is {found.standing.state}")
        standing = replace(found.standing, state=state, message="", wake_time=wake)
        if state in OVER:
            standing = replace(standing, message=f"stopped by {caller.label}", next_time=None)
        (moved,) = await self._store.save(change, [replace(found, standing=standing)])
        change.emit(ScheduleChanged(ChangeKind.UPDATED, moved))
        return moved


def _begun(rule: Rule, now: datetime) -> Standing:
    """Where a new schedule stands. InvalidArgument if it would never run."""
    if rule.start < now - _LATE:
        raise InvalidArgument.of(
            Violation("schedule.start_time", "must not be in the past; leave it out, and use Backfill for what was")
        )
    first = first_tick(rule, rule.timetable)
    if first is None:
        field = "schedule.end_time" if rule.end else "schedule.crontab"
        raise InvalidArgument.of(Violation(field, "leaves no tick at which the schedule could run"))
    return Standing(next_time=first, wake_time=first, looked_time=now)
