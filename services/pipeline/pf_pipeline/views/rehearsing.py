"""Thinks a run through: the machine that drives runs, in a world in which every step succeeds at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pf_kit.turns import by_turns
from pf_pipeline.engine.core import machine, restoring
from pf_pipeline.engine.core.happening import (
    Asked,
    Effect,
    Event,
    Halt,
    JobSeen,
    JobState,
    Judge,
    Launch,
    Over,
    Read,
    ReadResults,
    ResultsRead,
    Told,
)
from pf_pipeline.engine.core.state import Phase, Semaphores, State
from pf_pipeline.engine.ports import Language
from pf_pipeline.owners import Owner
from pf_pipeline.plans.domain import Plan
from pf_pipeline.runs.domain import Node, Order, Run, RunLife, Waiting, Wanted
from pf_pipeline.runs.states import NODE_OVER
from pf_pipeline.views.dry_words import CONTENT, RUN, DryWords
from pf_pipeline.views.foretelling import Foretelling, Foretold

AT_ONCE = 200
"""Steps that run at once, whatever the document says: the cache is asked about all of them together."""
PORTION = 20
"""Events after which others have their turn: all of it may take seconds."""


@dataclass(slots=True)
class Rehearsal:
    """A run that is thought through."""

    state: State
    words: DryWords
    nodes: dict[str, Node] = field(default_factory=dict)
    """As they would end."""
    foretold: dict[str, Foretold] = field(default_factory=dict)
    """What the cache would say, by path."""
    approvals: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Who would have to approve, by path."""
    loops: list[str] = field(default_factory=list)
    """Paths of loops, in the order in which their lengths were asked."""
    todo: list[Effect] = field(default_factory=list)

    @property
    def lengths(self) -> Mapping[str, int]:
        """How many iterations loops have in truth, by path; 0 if nobody knows."""
        return dict(zip(self.loops, self.words.lengths, strict=True))

    async def happens(self, events: Sequence[Event]) -> Sequence[Event]:
        """What happens, and what follows without anybody's doing."""
        for event in events:
            machine.apply(self.state, event, self.state.now)
        async for _ in by_turns(machine.following(self.state)):
            pass
        outcome = machine.take(self.state)
        self.loops += [loop.path for loop in outcome.loops]
        self.todo += outcome.effects
        self.nodes.update((node.path, node) for node in outcome.nodes.values() if node.state in NODE_OVER)
        waiting = [node for node in outcome.nodes.values() if node.waiting is Waiting.APPROVAL]
        self.approvals.update((node.path, node.waiting_on) for node in waiting)
        return [Asked(Wanted.APPROVE, node.path) for node in waiting]


@dataclass(frozen=True, slots=True)
class Rehearsing:
    """Thinks runs through."""

    language: Language
    foretelling: Foretelling

    async def rehearsed(self, owner: Owner, order: Order, plan: Plan, now: datetime) -> Rehearsal:
        """What would become of a run."""
        run = Run(id=RUN, owner=owner.name, owner_since=owner.since, order=order, life=RunLife(create_time=now))
        words = DryWords(self.language.words(run, plan))
        wide = replace(plan, parallelism=AT_ONCE)
        rehearsal = Rehearsal(restoring.new_state(run, wide, words, Semaphores(), now), words)
        events: Sequence[Event] = [Asked(Wanted.BEGIN)]
        while events and rehearsal.state.phase is not Phase.OVER:
            following: list[Event] = []
            for some in _portions(events):
                following += await rehearsal.happens(some)
                await asyncio.sleep(0)
            events = [*following, *await self._done(rehearsal, run, plan)]
        return rehearsal

    async def _done(self, rehearsal: Rehearsal, run: Run, plan: Plan) -> Sequence[Event]:
        """Does all that is to be done."""
        effects, rehearsal.todo = rehearsal.todo, []
        foretold = await self.foretelling.foretell(run, plan, [each for each in effects if isinstance(each, Judge)])
        rehearsal.foretold.update((each.told.path, each) for each in foretold)
        return [*(each.told for each in foretold), *(event for effect in effects for event in _answers(effect))]


def _portions(events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    for at in range(0, len(events), PORTION):
        yield events[at : at + PORTION]


def _answers(effect: Effect) -> Sequence[Event]:
    match effect:
        case Read():
            return [Told(effect.path, dict.fromkeys(effect.files, CONTENT))]
        case Launch():
            return [JobSeen(effect.node.path, effect.node.attempt, JobState.SUCCEEDED)]
        case Halt():
            return [JobSeen(effect.path, effect.attempt, JobState.TERMINATED)]
        case ReadResults():
            unknown = {name: f"{{{{{effect.node.name}.{name}}}}}" for name in effect.planned.results}
            return [ResultsRead(effect.node.path, unknown)]
        case Judge() | Over():
            return []


def bare(node: Node) -> Node:
    """Without what would be another one each time."""
    return replace(
        node,
        attempt=0,
        job="",
        approved_by="",
        start_time=None,
        finish_time=None,
        not_before=None,
        waiting=Waiting.NOTHING,
    )
