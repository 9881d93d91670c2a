"""The leader of admission: the one instance that decides.

What has come in while the last was stored is applied to the state in memory, and stored together with all that was
decided because of it, in one transaction that carries the leader's fence. Callers get their answer after it. If it
fails, nobody knows what of it is stored: then the state is read anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from paddleflow.problems import Aborted, NoLeader, Problem, Unavailable
from pf_kit.clock import Clock
from pf_kit.leases import Lease
from pf_kit.unit import AuditEntry, Change, Database, View
from pf_queue.admission.aside import without_queue
from pf_queue.admission.collecting import uncollected
from pf_queue.admission.domain import Effects, Key, Record, Released, WorkloadState
from pf_queue.admission.engine import Engine
from pf_queue.admission.engines import Engines
from pf_queue.admission.finishing import to_the_end
from pf_queue.admission.layout import ClusterFacts, Layout
from pf_queue.admission.store import WorkloadStore
from pf_queue.admission.times import micros

logger = logging.getLogger(__name__)

T = TypeVar("T")

MOST_CALLS = 100
"""Calls that share a commit."""
MOST_DECISIONS = 1000
"""Decisions after which a commit is made, and the rest comes with the next."""
LOOK = 1.0
"""Seconds between two looks for changes of queues and machines by other instances."""
SPACING = 0.05
"""Seconds between two looks at least."""


class Fence(Protocol):
    """Lets a change commit only as long as a lease is held; raises Aborted if it is not."""

    def __call__(self, change: Change, lease: Lease) -> Awaitable[None]: ...


class Layouts(Protocol):
    """Knows the queues and machines as they are."""

    async def read(self, view: View) -> Layout:
        """All pools."""

    async def facts(self, view: View) -> Sequence[ClusterFacts]:
        """What the pools are made of."""


@dataclass(slots=True)
class _Call(Generic[T]):
    """Something that is to be done, and who waits for it."""

    work: Callable[[Engine, int], T]
    entry: AuditEntry | None
    """None for questions."""
    stored: Callable[[Engine, T], T] | None
    """What is told of the result when it is stored, with all that was decided at once; None: the result itself."""
    answer: asyncio.Future[T]
    result: T | None = None
    problem: Problem | None = None


class Leading:
    """Decides, for as long as this instance leads."""

    def __init__(
        self,
        *,
        database: Database,
        store: WorkloadStore,
        layouts: Layouts,
        fence: Fence,
        clock: Clock,
        engines: Engines,
        stored: Callable[[Effects], None],
        closed: Callable[[str], Awaitable[None]],
    ) -> None:
        """`stored` is told of all that is decided for good, `closed` of a queue that is closing and has no workload."""
        self._database = database
        self._store = store
        self._layouts = layouts
        self._fence = fence
        self._clock = clock
        self._engines = engines
        self._stored = stored
        self._closed = closed
        self._calls: deque[_Call[Any]] = deque()
        self._rung = asyncio.Event()
        self._refreshing = asyncio.Lock()
        self._changing = asyncio.Lock()
        """Held by whoever changes the state, or has a thread look at it."""
        self._engine: Engine | None = None
        self._lease: Lease | None = None
        self._aside: dict[str, Record] = {}
        self._storing: asyncio.Future[bool] | None = None
        """Tells whether what is decided is stored, as soon as it is known; None if all is."""
        self._tree: tuple[int, ...] = ()
        self._ahead = 0

    @property
    def engine(self) -> Engine | None:
        """The state; None while another instance leads."""
        return self._engine

    @property
    def aside(self) -> Collection[Record]:
        """Those that are set aside."""
        return self._aside.values()

    def set_aside(self, key: Key) -> Record | None:
        """One that is set aside; for attempt 0 the last of the job."""
        if key.attempt:
            return self._aside.get(str(key))
        attempts = [record for record in self._aside.values() if record.spec.key.job == key.job]
        return max(attempts, key=lambda record: record.spec.key.attempt, default=None)

    async def drop(self, over: Record, entry: AuditEntry) -> None:
        """Ends one that is set aside."""
        if self._lease is None:
            raise NoLeader(retry_after=1.0)
        # Another leader's are others: what is put back here is of no interest to it.
        aside = self._aside
        kept, fact = aside.pop(over.id), Released(over, ())
        try:
            async with self._database.change() as change:
                await self._fence(change, self._lease)
                await self._store.write(change, Effects(changed={over.id: over}))
                change.emit(fact)
                change.audit(entry)
        except BaseException:
            aside[over.id] = kept
            raise

    async def ask(self, question: Callable[[Engine, int], T]) -> T:
        """The answer to a question about the state as it is, once that is stored.

        What a commit in flight has decided is not told before, because it may be lost with it.
        """
        if self._engine is None:
            raise NoLeader(retry_after=1.0)
        answer = question(self._engine, self._now())
        # A caller who goes away must not take the commit's word from the others.
        if self._storing is not None and not await asyncio.shield(self._storing):
            raise Unavailable("what there is to tell was not stored, or nobody knows; try again")
        return answer

    async def do(
        self,
        work: Callable[[Engine, int], T],
        entry: AuditEntry,
        stored: Callable[[Engine, T], T] | None = None,
    ) -> T:
        """Does something to the state; returns when it is stored, with what is decided at once."""
        if self._engine is None:
            raise NoLeader(retry_after=1.0)
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._calls.append(_Call(work, entry, stored, answer))
        self._rung.set()
        return await answer

    async def run(self, lease: Lease) -> None:
        """Leads until it is cancelled; whatever happens to the database, it goes on when that is back."""
        while True:
            try:
                await self._lead(lease)
            except (Unavailable, Aborted) as problem:
                logger.warning("admission begins anew", extra={"reason": problem.reason, "detail": problem.message})
                await asyncio.sleep(LOOK)

    async def _lead(self, lease: Lease) -> None:
        engine = await self._load(lease)
        self._engine, self._lease = engine, lease
        watching = asyncio.create_task(self._watch_tree())
        try:
            while not watching.done():
                await self._pause(engine)
                async with self._changing:
                    await self._turn(engine, lease)
                    await self._engines.rest(self._now())
            watching.result()
        finally:
            # At once: what this engine knows may never be stored.
            self._dismiss()
            watching.cancel()
            await asyncio.wait([watching])

    async def _load(self, lease: Lease) -> Engine:
        """The state as it is stored. Whoever led before can store no more: its commits carry an older fence."""
        begun = self._clock.monotonic()
        async with self._database.change() as change:
            await self._fence(change, lease)
            self._set_clock(micros(change.time))
        with uncollected(stays=True):
            engine = await self._read()
        seconds = round(self._clock.monotonic() - begun, 3)
        told = {"workloads": len(engine.records), "seconds": seconds, "fence": lease.fence}
        logger.info("admission leads", extra=told)
        return engine

    async def _read(self) -> Engine:
        engine = self._engines.new()
        async with self._database.snapshot() as snapshot:
            self._tree = await self._store.tree(snapshot)
            layout = await self._layouts.read(snapshot)
            records = await self._store.unfinished(snapshot)
        engine.arrange(layout, self._now())
        sound = self._sorted_out(records, layout)
        # In a thread, because it may take seconds, and the lease must be renewed meanwhile.
        await asyncio.to_thread(engine.restore, sound, self._now())
        return engine

    def _sorted_out(self, records: Sequence[Record], layout: Layout) -> Sequence[Record]:
        """Those of which sense can be made; the others are set aside, so that they stop nobody else."""
        known = [record if record.spec.queue in layout.pool_of else without_queue(record) for record in records]
        self._aside = {record.id: record for record in known if record.state is WorkloadState.SET_ASIDE}
        for record in self._aside.values():
            told = {"workload": record.id, "queue": record.spec.queue, "fault": record.fault}
            logger.error("a workload is set aside: admission goes on without it until it is released", extra=told)
        return [record for record in known if record.id not in self._aside]

    async def _turn(self, engine: Engine, lease: Lease) -> None:
        """One commit: of the calls that have come, and of what is decided now."""
        calls = [self._calls.popleft() for _ in range(min(len(self._calls), MOST_CALLS))]
        now = self._now()
        try:
            for call in calls:
                _work(call, engine, now)
            effects, more = self._decide(engine, now)
            if effects or calls:
                with self._in_flight():
                    await self._commit(lease, effects, calls)
        except BaseException:
            for call in calls:
                _fail(call, Unavailable("the change was not stored, or nobody knows; try again"))
            raise
        self._engines.stored()
        self._stored(effects)
        for call in calls:
            _answer(call, engine)
        if more or self._calls:
            self._rung.set()

    @contextmanager
    def _in_flight(self) -> Iterator[None]:
        storing = self._storing = asyncio.get_running_loop().create_future()
        try:
            yield
            storing.set_result(True)
        finally:
            self._storing = None
            if not storing.done():
                storing.set_result(False)

    def _decide(self, engine: Engine, now: int) -> tuple[Effects, bool]:
        while engine.round(now):
            if engine.decided >= MOST_DECISIONS:
                return engine.effects(), True
        return engine.effects(), False

    async def _commit(self, lease: Lease, effects: Effects, calls: list[_Call[Any]]) -> None:
        async with self._database.change() as change:
            await self._fence(change, lease)
            self._set_clock(micros(change.time))
            await self._store.write(change, effects)
            for fact in effects.facts:
                change.emit(fact)
            for call in calls:
                if call.entry is not None and call.problem is None:
                    change.audit(call.entry)

    async def _pause(self, engine: Engine) -> None:
        """Waits until there is something to do. What comes while it is stored is done together, after it."""
        if not self._rung.is_set():
            due = engine.next_time()
            patience = LOOK if due is None else max(0.0, min(LOOK, (due - self._now()) / 1e6))
            try:
                async with asyncio.timeout(patience):
                    await self._rung.wait()
            except TimeoutError:
                return
            # Whoever has asked in the same moment.
            await asyncio.sleep(0)
        self._rung.clear()

    async def refresh(self) -> None:
        """Takes over what is new of queues and machines."""
        engine = self._engine
        if engine is None or await self._store.tree(self._database.newest) == self._tree:
            return
        # One after the other, so that an older layout never comes after a newer one.
        async with self._refreshing:
            async with self._database.snapshot() as snapshot:
                tree = await self._store.tree(snapshot)
                if tree == self._tree:
                    return
                layout = await self._layouts.read(snapshot)
            await to_the_end(self._changing, lambda: self._arrange(engine, layout, tree))

    async def _arrange(self, engine: Engine, layout: Layout, tree: tuple[int, ...]) -> None:
        """In a thread, because with many who wait it may take seconds, and the lease must be renewed meanwhile."""
        with uncollected(stays=False):
            arrangement = await asyncio.to_thread(engine.arranged, layout, self._now())
        if engine is self._engine:
            engine.take_over(arrangement)
            self._tree = tree
            self._rung.set()

    async def _watch_tree(self) -> None:
        """Takes over changes of queues and machines, whoever makes them."""
        while True:
            await self.refresh()
            for queue in self._engine.emptied() if self._engine else ():
                if all(record.spec.queue != queue for record in self._aside.values()):
                    await self._closed(queue)
            await asyncio.sleep(SPACING)
            await self._database.log.commits()

    def _now(self) -> int:
        """Microseconds by the clock of the database, as far as it is known."""
        return round(self._clock.monotonic() * 1e6) + self._ahead

    def _set_clock(self, time: int) -> None:
        """Time never goes back while this instance leads, also if the database's does."""
        self._ahead = max(self._ahead, time - round(self._clock.monotonic() * 1e6))

    def _dismiss(self) -> None:
        """Leads no more: whoever waits is told to ask the next leader."""
        self._engine = self._lease = None
        self._aside = {}
        while self._calls:
            _fail(self._calls.popleft(), NoLeader(retry_after=1.0))


def _work(call: _Call[Any], engine: Engine, now: int) -> None:
    try:
        call.result = call.work(engine, now)
    except Problem as problem:
        call.problem = problem


def _answer(call: _Call[Any], engine: Engine) -> None:
    if call.answer.done():
        return
    if call.problem is not None:
        call.answer.set_exception(call.problem)
    else:
        call.answer.set_result(call.stored(engine, call.result) if call.stored else call.result)


def _fail(call: _Call[Any], problem: Problem) -> None:
    if not call.answer.done():
        call.answer.set_exception(problem)
