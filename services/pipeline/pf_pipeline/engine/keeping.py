"""Runs under way in memory, as they were kept last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from paddleflow.problems import DocumentInvalid
from pf_kit.clock import Clock
from pf_kit.turns import by_turns
from pf_kit.unit import Database
from pf_pipeline.engine.core import machine, restoring
from pf_pipeline.engine.core.giving_up import GivenUp, give_up
from pf_pipeline.engine.core.happening import Effect, Event
from pf_pipeline.engine.core.state import Semaphores, State, semaphores_of
from pf_pipeline.engine.ports import Language
from pf_pipeline.engine.trying import FAULTS
from pf_pipeline.plans.domain import Plan
from pf_pipeline.runs.domain import Node, NodeFilter, Run
from pf_pipeline.runs.states import RUN_OVER
from pf_pipeline.runs.store import BEGINNING, RunStore, Turn

PAGE = 500
"""Nodes that are read at once."""


@dataclass(frozen=True, slots=True)
class Further:
    """How far a run has been taken."""

    turn: Turn
    """What is to be kept."""
    effects: Sequence[Effect]
    """What is to be done after that."""
    is_more: bool
    """More may follow."""


@dataclass(slots=True)
class Keeping:
    """The runs that one instance drives."""

    database: Database
    store: RunStore
    language: Language
    clock: Clock
    semaphores: Semaphores = field(default_factory=Semaphores)
    _states: dict[str, State] = field(default_factory=dict)

    async def state(self, id_: str) -> State | None:
        """A run under way; None if it is over, or gone."""
        if id_ not in self._states:
            found = await self._load(id_)
            if found is None:
                return None
            self._states[id_] = found
        return self._states[id_]

    def drop(self, id_: str) -> None:
        """Forgets what is in memory of a run: it is read anew when something happens to it."""
        state = self._states.pop(id_, None)
        if state is not None:
            _give_back(state)

    async def given_up(self, id_: str, why: str) -> GivenUp | None:
        """What becomes of a run that cannot be driven; None if it is over, or gone."""
        run = await self._unfinished(id_)
        if run is None:
            return None
        return give_up(run, [node async for node in self._nodes(id_)], why, self.clock.now())

    async def take_further(self, state: State, events: Sequence[Event], most: int) -> Further:
        """Lets events happen to a run, and so many steps of what follows at most."""
        now = self.clock.now()
        async for event in by_turns(events):
            machine.apply(state, event, now)
        done = 0
        async for _ in by_turns(islice(machine.following(state), most)):
            done += 1
        outcome = machine.take(state)
        turn = Turn(
            run=state.run, nodes=list(outcome.nodes.values()), loops=outcome.loops, happenings=outcome.happenings
        )
        return Further(turn, outcome.effects, done == most)

    def saved(self, run: Run) -> None:
        """Notes the version that a run was kept with."""
        state = self._states.get(run.id)
        if state is not None:
            state.run = run
        if run.life.state in RUN_OVER:
            self._states.pop(run.id, None)

    def waiting(self) -> Sequence[str]:
        """Runs for which time matters, or semaphores that may be free by now."""
        now, freed = self.clock.now(), self.semaphores.freed
        self.semaphores.freed = False
        return [id_ for id_, state in self._states.items() if _is_due(state, now) or (freed and state.parked)]

    async def _load(self, id_: str) -> State | None:
        run = await self._unfinished(id_)
        if run is None:
            return None
        plan = await self._plan(run)
        words = self.language.words(run, plan)
        state = restoring.new_state(run, plan, words, self.semaphores, self.clock.now())
        nodes = [node async for node in self._nodes(id_)]
        loops = await self.store.loops(self.database.newest, id_)
        try:
            # Many nodes take a second, in which the lease wants to be renewed.
            await asyncio.to_thread(restoring.restore, state, nodes, loops)
        except FAULTS:
            _give_back(state)
            raise
        return state

    async def _unfinished(self, id_: str) -> Run | None:
        run = next(iter(await self.store.runs(self.database.newest, [id_])), None)
        return None if run is None or run.life.state in RUN_OVER else run

    async def _plan(self, run: Run) -> Plan:
        """Raises ValueError for an order that makes no sense any more."""
        try:
            # A large document takes a second, in which the lease wants to be renewed.
            return await asyncio.to_thread(self.language.plan, run.order)
        except DocumentInvalid as problem:
            raise ValueError(problem.message) from problem

    async def _nodes(self, id_: str) -> AsyncIterator[Node]:
        after = BEGINNING
        while nodes := await self.store.nodes(self.database.newest, id_, NodeFilter(), after, PAGE):
            for node in nodes:
                yield node
            after = nodes[-1].place, nodes[-1].iteration, nodes[-1].path


def _is_due(state: State, now: datetime) -> bool:
    return any(live.due is not None and live.due <= now for live in state.lives.values())


def _give_back(state: State) -> None:
    """Whoever is read anew takes its semaphores again."""
    for live in state.lives.values():
        if live.slot:
            state.semaphores.give(state.run.owner, semaphores_of(live))
