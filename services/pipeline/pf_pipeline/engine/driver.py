"""What the instance that drives runs does: it takes in what happened to them, keeps what follows, and does it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from paddleflow.problems import Problem
from pf_kit.clock import Clock
from pf_kit.leases import Lease
from pf_kit.unit import Change, Database
from pf_pipeline.engine.core.happening import (
    Asked,
    Broken,
    Effect,
    Event,
    Halt,
    Judge,
    Launch,
    Passed,
    Read,
    ReadResults,
)
from pf_pipeline.engine.core.state import State
from pf_pipeline.engine.inbox import Inbox
from pf_pipeline.engine.keeping import Keeping
from pf_pipeline.engine.ports import Chronicle, End, Executor, Library, Start
from pf_pipeline.engine.trying import FAULTS
from pf_pipeline.runs.domain import Executor as ExecutorKind
from pf_pipeline.runs.domain import Run, RunChanged
from pf_pipeline.runs.states import RUN_OVER
from pf_pipeline.runs.store import RunStore, Turn, run_lock

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.5
"""Between two looks at what is due."""
AGAIN_SECONDS = 0.5
"""Until something is tried again that failed for a reason that passes."""
TOLD_SECONDS = 0.1
"""Between two events that tell only how many steps of a run stand where."""
WISHES = 1000
"""Wishes that are read at once."""
AT_ONCE = 64
"""Files that are read and questions that are asked at one time."""
MOST_STEPS, FEWEST_STEPS = 2000, 20
"""That follow from what happened to runs, in one commit: of all together, and of each however many there are. A commit
of much more would take longer than a database allows."""
LONGEST_FAULT = 500
"""Characters of it that are told."""
Happened: TypeAlias = "Mapping[str, Sequence[Event]]"
"""By run."""
Record: TypeAlias = "Callable[[Change, Sequence[Turn]], Awaitable[None]]"
"""Keeps what else there is of runs."""
Work: TypeAlias = "tuple[str, Coroutine[Any, Any, None]]"
"""What a run wants to be done."""


@dataclass(slots=True, kw_only=True)
class Driver:
    """Drives runs, as long as this instance leads."""

    database: Database
    store: RunStore
    keeping: Keeping
    executors: Mapping[ExecutorKind, Executor]
    library: Library
    chronicle: Chronicle
    lease: Lease | None
    """Of this instance; None where there are no others."""
    epoch: int
    """Of the lease: higher than that of all before."""
    clock: Clock
    inbox: Inbox
    _taken: set[int] = field(default_factory=set)
    """Wishes that have been read, and are still kept."""
    _told: dict[str, tuple[str, float]] = field(default_factory=dict)
    """State of each run as others were told last, and when."""
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def run(self) -> None:
        """Drives for ever."""
        for id_ in await self.store.unfinished(self.database.newest):
            self.inbox.put(id_)
        async with asyncio.TaskGroup() as group:
            for executor in self.executors.values():
                group.create_task(executor.watch())
            group.create_task(self._hear())
            group.create_task(self._tick())
            while True:
                for id_, work in await self._turn(await self.inbox.take()):
                    group.create_task(self._done(id_, work))

    async def _turn(self, happened: Happened) -> Sequence[Work]:
        """Takes runs further by one commit; returns what is to be done after it."""
        try:
            return await self._commit(happened)
        except Problem as problem:
            await self._begin_anew(happened, problem)
            return []
        except FAULTS as fault:
            return await self._isolate(happened, fault)

    async def _commit(self, happened: Happened) -> Sequence[Work]:
        turns: list[Turn] = []
        wanted: list[tuple[State, Sequence[Effect]]] = []
        idle: list[int] = []
        for id_, events in happened.items():
            state = await self.keeping.state(id_)
            if state is None:
                idle += _heard(events)
                continue
            further = await self.keeping.take_further(state, events, max(MOST_STEPS // len(happened), FEWEST_STEPS))
            turn = replace(further.turn, heard=_heard(events))
            if turn.nodes or turn.happenings or turn.loops or turn.heard:
                turns.append(turn)
            wanted.append((state, further.effects))
            if further.is_more:
                self.inbox.put(id_)
        await self._keep(turns, idle)
        return [work for state, effects in wanted for work in self._work(state, effects)]

    async def _keep(self, turns: Sequence[Turn], idle: Sequence[int]) -> None:
        """Keeps turns, and forgets wishes that are about runs which are over."""
        if not turns and not idle:
            return
        async with self.database.change(*(run_lock(turn.run.id) for turn in turns), lease=self.lease) as change:
            saved = await self.store.save(change, turns)
            await self.chronicle.record(change, turns)
            if idle:
                await self.store.forget_wishes(change, idle)
            for run in saved:
                if self._is_told(run):
                    change.emit(RunChanged(run))
        self.chronicle.kept(turns)
        self._taken.difference_update(idle, *(turn.heard for turn in turns))
        for run in saved:
            self.keeping.saved(run)

    async def _begin_anew(self, happened: Happened, problem: Problem) -> None:
        """What was not kept has not happened. Runs are read anew; what their jobs did is looked up then."""
        logger.warning("runs are read anew", extra={"runs": len(happened), "detail": problem.message})
        for id_ in happened:
            self.keeping.drop(id_)
        await asyncio.sleep(AGAIN_SECONDS)
        for id_, events in happened.items():
            self.inbox.put(id_, *(event for event in events if isinstance(event, Asked | Broken)))

    async def _isolate(self, happened: Happened, fault: Exception) -> Sequence[Work]:
        """A fault that one run has must not hold up the others: each is taken further by itself."""
        for id_ in happened:
            self.keeping.drop(id_)
        if len(happened) > 1:
            return [work for id_, events in happened.items() for work in await self._turn({id_: events})]
        ((id_, events),) = happened.items()
        try:
            return await self._give_up(id_, events, fault)
        except Problem as problem:
            await self._begin_anew(happened, problem)
            return []

    async def _give_up(self, id_: str, events: Sequence[Event], fault: Exception) -> Sequence[Work]:
        """Ends a run that cannot be driven."""
        logger.error("a run is given up", extra={"run": id_}, exc_info=fault)
        given = await self.keeping.given_up(id_, f"a fault of the service: {repr(fault)[:LONGEST_FAULT]}")
        if given is None:
            return []
        turn = Turn(run=given.run, nodes=given.nodes, happenings=[given.happening], heard=_heard(events))
        try:
            await self._keep_end(turn, self.chronicle.record)
        except FAULTS:
            logger.exception("what else is kept of a run that is given up is lost", extra={"run": id_})
            await self._keep_end(turn, _not_at_all)
        self.chronicle.kept([turn])
        self._taken.difference_update(turn.heard)
        self._told.pop(id_, None)
        ends = [End(given.run, halt, self.epoch) for halt in given.halts]
        return [(id_, self.executors[given.run.order.executor].end(ends))] if ends else []

    async def _keep_end(self, turn: Turn, record: Record) -> None:
        async with self.database.change(run_lock(turn.run.id), lease=self.lease) as change:
            for run in await self.store.save(change, [turn]):
                change.emit(RunChanged(run))
            await record(change, [turn])

    def _is_told(self, run: Run) -> bool:
        """True if others are to hear of a change: of each state, and of how many steps stand where now and then."""
        now, (state, told) = self.clock.monotonic(), self._told.get(run.id, ("", float("-inf")))
        if state == run.life.state and now - told < TOLD_SECONDS:
            return False
        self._told[run.id] = (run.life.state, now)
        if run.life.state in RUN_OVER:
            del self._told[run.id]
        return True

    def _work(self, state: State, effects: Sequence[Effect]) -> Sequence[Work]:
        run, plan = state.run, state.plan
        executor = self.executors[run.order.executor]
        work = [self._ask(run, state, effect) for effect in effects if isinstance(effect, Read | ReadResults | Judge)]
        if starts := [Start(run, plan, effect, self.epoch) for effect in effects if isinstance(effect, Launch)]:
            work.append(executor.start(starts))
        if ends := [End(run, effect, self.epoch) for effect in effects if isinstance(effect, Halt)]:
            work.append(executor.end(ends))
        return [(run.id, each) for each in work]

    async def _done(self, id_: str, work: Coroutine[Any, Any, None]) -> None:
        """Does what a run wants. What nobody expected is about this run alone."""
        try:
            await work
        except (Problem, *FAULTS) as fault:
            logger.exception("what a run wants cannot be done", extra={"run": id_})
            self.inbox.put(id_, Broken(repr(fault)))

    async def _ask(self, run: Run, state: State, effect: Read | ReadResults | Judge) -> None:
        """Asks about files and about the cache; tells what is answered."""
        match effect:
            case Read():
                async with self._places:
                    self.inbox.put(run.id, await self.library.read(run, state.plan, effect))
            case ReadResults():
                async with self._places:
                    self.inbox.put(run.id, await self.library.read_results(run, state.plan, effect))
            case Judge():
                async for answer in self.library.judge(run, state.plan, effect):
                    self.inbox.put(run.id, answer)

    async def _hear(self) -> None:
        """Takes in what people want, as soon as they have said it."""
        while True:
            try:
                await self._read_wishes()
            except Problem as problem:
                logger.warning("wishes cannot be read", extra={"detail": problem.message})
                await asyncio.sleep(AGAIN_SECONDS)
            await self.database.log.commits(1.0)

    async def _read_wishes(self) -> None:
        for wish in await self.store.wishes(self.database.newest, 0, WISHES):
            if wish.number not in self._taken:
                self._taken.add(wish.number)
                self.inbox.put(wish.run, Asked(wish.wanted, wish.path, wish.by, wish.comment, wish.number))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            for id_ in self.keeping.waiting():
                self.inbox.put(id_, Passed())


async def _not_at_all(_change: Change, _turns: Sequence[Turn]) -> None:
    """Keeps nothing else of a run."""


def _heard(events: Sequence[Event]) -> Sequence[int]:
    """Numbers of wishes, which are forgotten by the commit that they come into effect with."""
    return [event.number for event in events if isinstance(event, Asked) and event.number]
