"""What can be done with workloads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from paddleflow.problems import (
    PermissionDenied,
    Problem,
    Unavailable,
    WorkloadExists,
    WorkloadNotFound,
    WorkloadStateConflict,
)
from pf_kit.principal import Principal
from pf_kit.unit import AuditEntry, Database
from pf_queue.admission.aside import dropped
from pf_queue.admission.core.explain import Explanation, Reason, explain
from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import Key, Outcome, Record, Spec, WorkloadState
from pf_queue.admission.engine import Engine
from pf_queue.admission.finishing import to_the_end
from pf_queue.admission.leading import Layouts, Leading
from pf_queue.admission.listing import Listed, Place, WorkloadFilter, live
from pf_queue.admission.loads import Load, loads
from pf_queue.admission.positions import Position, position_of
from pf_queue.admission.refusals import still_over, submitted_before
from pf_queue.admission.store import DecisionFilter, OverFilter, StoredDecision, WorkloadStore
from pf_queue.admission.supposing import Supposed, supposed
from pf_queue.admission.trial import Forecast, Wanted, forecast
from pf_queue.quota.visibility import Visibility

T = TypeVar("T")

LAST_DECISIONS = 100
"""Told in an explanation."""


@dataclass(frozen=True, slots=True)
class Ending:
    """An attempt that is to end."""

    key: Key
    grant: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Standing:
    """A workload, and why it waits."""

    record: Record
    explanation: Explanation | None = None

    @property
    def reason(self) -> Reason | None:
        return self.explanation.reason if self.explanation else None


@dataclass(frozen=True, slots=True)
class Story:
    """A workload, why it waits, and what was decided about it."""

    standing: Standing
    position: Position
    leaving: Sequence[Key]
    decisions: Sequence[StoredDecision]


class Workloads:
    """The use cases."""

    def __init__(
        self,
        *,
        database: Database,
        store: WorkloadStore,
        leading: Leading,
        visibility: Visibility,
        layouts: Layouts,
        tuning: Tuning,
    ) -> None:
        self._database = database
        self._store = store
        self._leading = leading
        self._visibility = visibility
        self._layouts = layouts
        self._tuning = tuning
        self._simulating = asyncio.Lock()
        """One at a time: each takes turns with the leader for the processor."""

    async def submit(self, specs: Sequence[Spec], entry: AuditEntry) -> Sequence[Record | Problem]:
        """Lets workloads wait; each is taken or refused by itself."""
        state = self._leading.engine
        over = await self._over([spec.key for spec in specs])
        aside = {spec.key: self._leading.set_aside(replace(spec.key, attempt=0)) for spec in specs}
        # Whoever has closed or held a queue before counts on it.
        await self._leading.refresh()

        def work(engine: Engine, now: int) -> Sequence[Record | Problem]:
            _require_same(engine, state)
            return [_tried(_submit, engine, spec, aside[spec.key], over, now) for spec in specs]

        return await self._leading.do(work, entry, _as_stored)

    async def release(self, endings: Sequence[Ending], entry: AuditEntry) -> Sequence[Record | Problem]:
        """Ends attempts; each by itself."""
        for ending in endings:
            if (aside := self._leading.set_aside(ending.key)) is not None:
                await self._leading.drop(dropped(aside, ending.grant, ending.outcome), entry)
        state = self._leading.engine
        over = await self._over([ending.key for ending in endings])

        def work(engine: Engine, now: int) -> Sequence[Record | Problem]:
            _require_same(engine, state)
            return [_tried(_release, engine, ending, over, now) for ending in endings]

        return await self._leading.do(work, entry)

    async def resize(self, key: Key, grant: str, left: Mapping[str, int], entry: AuditEntry) -> Record:
        self._require_sound(key)
        return await self._leading.do(lambda engine, _: engine.resize(key, grant, left), entry)

    async def update(self, key: Key, priority: int, revision: int, entry: AuditEntry) -> Record:
        """Changes the priority of a workload that waits. Raises WorkloadNotFound and WorkloadStateConflict."""
        self._require_sound(key)
        return await self._leading.do(lambda engine, now: engine.update(key, priority, revision, now), entry)

    async def running(self, reports: Sequence[tuple[Key, str]], entry: AuditEntry) -> None:
        def work(engine: Engine, now: int) -> None:
            for key, grant in reports:
                engine.running(key, grant, now)

        await self._leading.do(work, entry)

    async def resume(self, key: Key, entry: AuditEntry) -> Record:
        self._require_sound(key)
        return await self._leading.do(lambda engine, now: engine.resume(key, now), entry)

    async def get(self, caller: Principal, key: Key) -> Standing:
        """A workload. Raises WorkloadNotFound and QueueNotGranted."""
        standing = await self._leading.ask(lambda engine, now: _standing(engine, key, now))
        if standing is None:
            record = self._leading.set_aside(key) or await self._store.last_over(self._database.newest, key)
            if record is None:
                raise WorkloadNotFound(f"there is no workload {_named(key)}")
            standing = Standing(record)
        await self._visibility.require(self._database.newest, caller, standing.record.spec.queue)
        return standing

    async def in_queue(self, caller: Principal, chosen: WorkloadFilter, after: Place, limit: int) -> Sequence[Listed]:
        """The workloads of a queue that come after a place. Raises QueueNotGranted and QueueNotFound."""
        await self._visibility.require(self._database.newest, caller, chosen.queue)
        await self._know_queues([chosen.queue])
        found = await self._leading.ask(lambda engine, _: live(engine, chosen, after, limit))
        aside = sorted(filter(chosen.matches, self._leading.aside), key=lambda record: record.id)
        found = [
            *found,
            *(record for record in aside if Place.of(record) > after and record.spec.queue == chosen.queue),
        ]
        listed = [Listed(record, Place.of(record)) for record in found[:limit]]
        if not chosen.over or len(listed) == limit:
            return listed
        filter_ = OverFilter(chosen.queue, chosen.user)
        over = await self._store.over_in_queue(self._database.newest, filter_, after.over, limit - len(listed))
        return [*listed, *(Listed(each.record, Place.of_over(each)) for each in over)]

    async def explained(self, records: Sequence[Record]) -> Sequence[Standing]:
        """The same workloads as they are now, those that wait with the reason."""
        return await self._leading.ask(
            lambda engine, now: [_standing(engine, each.spec.key, now) or Standing(each) for each in records]
        )

    async def position(self, caller: Principal, key: Key) -> Position:
        """Where a workload stands. Raises as `get`."""
        record = (await self.get(caller, key)).record
        return await self._leading.ask(lambda engine, now: position_of(engine, record, now))

    async def story(self, caller: Principal, key: Key, *, all_attempts: bool) -> Story:
        """All there is to say about a workload, or about all attempts of its job. Raises as `get`."""
        standing = await self.get(caller, key)
        record = standing.record
        position, leaving = await self._leading.ask(
            lambda engine, now: (position_of(engine, record, now), _leaving(engine, record))
        )
        attempt = 0 if all_attempts else record.spec.key.attempt
        # Another attempt may have been in a queue that is not the caller's.
        names = await self._visibility.names(self._database.newest, caller)
        chosen = DecisionFilter(queues=names, job=record.spec.key.job, attempt=attempt)
        decisions = await self._store.decisions(self._database.newest, chosen, None, LAST_DECISIONS)
        return Story(standing, position, leaving, decisions[::-1])

    async def loads(self, caller: Principal, cluster: str, queue: str) -> Sequence[Load]:
        """How busy the queues are that the caller may see, by name."""
        names = await self._visibility.names(self._database.newest, caller)
        if queue:
            await self._know_queues([queue])
        found = await self._leading.ask(lambda engine, now: _loads(engine, cluster, queue, now))
        return [load for load in found if names is None or load.queue in names]

    async def decisions(
        self, caller: Principal, chosen: DecisionFilter, before: int | None, limit: int
    ) -> Sequence[StoredDecision]:
        """What was decided, newest first. A user sees that of the queues granted to it."""
        if chosen.queues is None:
            names = await self._visibility.names(self._database.newest, caller)
            chosen = replace(chosen, queues=names)
        else:
            for queue in chosen.queues:
                await self._visibility.require(self._database.newest, caller, queue)
        return await self._store.decisions(self._database.newest, chosen, before, limit)

    async def visible(self, caller: Principal) -> frozenset[str] | None:
        """The queues the caller may see; None for all."""
        return await self._visibility.names(self._database.newest, caller)

    async def forecast(self, caller: Principal, specs: Sequence[Spec], change: Supposed) -> Forecast:
        """What would happen. The state is copied here and played out in a thread."""
        for queue in {spec.queue for spec in specs}:
            await self._visibility.require(self._database.newest, caller, queue)
        await self._know_queues(spec.queue for spec in specs)
        if change and not caller.root:
            raise PermissionDenied("Only root may suppose other queues and machines.")
        found = await to_the_end(self._simulating, lambda: self._forecast(specs, change))
        names = await self._visibility.names(self._database.newest, caller)
        return replace(found, decided=[each for each in found.decided if names is None or each.queue in names])

    async def _forecast(self, specs: Sequence[Spec], change: Supposed) -> Forecast:
        records, layout, now = await self._leading.ask(
            lambda engine, now: (list(engine.records.values()), engine.layout, now)
        )
        if change:
            layout = supposed(await self._layouts.facts(self._database.newest), change)
        queues = {*change.queues, *(spec.queue for spec in specs)}
        clusters = change.clusters | {layout.pool_of[queue].cluster for queue in queues if queue in layout.pool_of}
        return await asyncio.to_thread(forecast, records, Wanted(layout, specs, clusters), self._tuning, now)

    def _require_sound(self, key: Key) -> None:
        if (aside := self._leading.set_aside(key)) is not None:
            raise WorkloadStateConflict(f"the workload {aside.id} is set aside: {aside.fault}; release it")

    async def _over(self, keys: Sequence[Key]) -> Mapping[str, Record]:
        found = await self._store.over(self._database.newest, [str(key) for key in keys])
        return {record.id: record for record in found}

    async def _know_queues(self, queues: Iterable[str]) -> None:
        """A queue that was made just now may not be known to the leader yet."""
        known = await self._leading.ask(lambda engine, _: engine.layout.pool_of)
        missing = [queue for queue in queues if queue not in known]
        if missing:
            await self._leading.refresh()


def _tried(work: Callable[..., Record], *arguments: object) -> Record | Problem:
    try:
        return work(*arguments)
    except Problem as problem:
        return problem


def _require_same(engine: Engine, before: Engine | None) -> None:
    """Between a look at what is over and its use, only the state of that time remembers what has ended."""
    if engine is not before:
        raise Unavailable("the state was read anew before the change could be made; try again")


def _submit(engine: Engine, spec: Spec, aside: Record | None, over: Mapping[str, Record], now: int) -> Record:
    if aside is not None:
        raise WorkloadExists(f"the workload {aside.id} of the same job is set aside: {aside.fault}; release it first")
    known = over.get(str(spec.key))
    if known is None or known.id in engine.records:
        return engine.submit(spec, now)
    return submitted_before(known, spec)


def _as_stored(engine: Engine, found: Sequence[Record | Problem]) -> Sequence[Record | Problem]:
    """As they stand now: there may have been room for some at once."""
    return [each if isinstance(each, Problem) else engine.records.get(each.id, each) for each in found]


def _release(engine: Engine, ending: Ending, over: Mapping[str, Record], now: int) -> Record:
    known = over.get(str(ending.key))
    if known is not None and known.id not in engine.records:
        return still_over(known, ending.grant)
    return engine.release(ending.key, ending.grant, ending.outcome, now)


def _standing(engine: Engine, key: Key, now: int) -> Standing | None:
    record = engine.find(key)
    if record is None:
        return None
    if record.state is not WorkloadState.PENDING:
        return Standing(record)
    return Standing(record, explain(engine.pool_of(record.spec.queue), record.id, now))


def _leaving(engine: Engine, record: Record) -> Sequence[Key]:
    """Those who were told to leave for a workload, and have not yet."""
    return [other.spec.key for other in engine.records.leaving_for(record.id)]


def _loads(engine: Engine, cluster: str, queue: str, now: int) -> Sequence[Load]:
    if queue:
        engine.pool_of(queue)
    admissions, evictions = engine.admissions.lately(now), engine.evictions.lately(now)
    found: list[Load] = []
    for id_, pool in engine.pools.items():
        if cluster in ("", id_.cluster):
            names = {
                place.name for place in pool.yard.tree.places if not queue or any(at.name == queue for at in place.path)
            }
            found += [load for load in loads(pool, admissions, evictions) if load.queue in names]
    return sorted(found, key=lambda load: load.queue)


def _named(key: Key) -> str:
    return str(key) if key.attempt else key.job
