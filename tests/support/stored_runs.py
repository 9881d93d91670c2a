"""Runs of a world, kept where services look for them."""

from __future__ import annotations

from dataclasses import dataclass, field

from paddleflow.problems import Unavailable
from pf_kit.changes import UNBORN
from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.principal import Principal, PrincipalKind
from pf_pipeline.artifacts.memory import MemoryArtifactStore
from pf_pipeline.engine.core.happening import JobState
from pf_pipeline.engine.core.words import Words
from pf_pipeline.engine.executors.jobs import JobView
from pf_pipeline.plans.domain import Plan
from pf_pipeline.runs.domain import Order, Run
from pf_pipeline.runs.memory import MemoryRunStore
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.store import Turn, run_lock
from pf_pipeline.views.explaining import Explaining
from pf_pipeline.views.listing import Listing
from support.plain_words import PlainWords
from support.run_worlds import World

ADA = Principal(PrincipalKind.USER, "ada", since=UNBORN)


def no_facts(event: object) -> Fact:
    raise TypeError(event)


class NoTraces:
    """Fulfils `Traces`: nothing else is kept of runs."""

    async def used_by(self, _view: object, _run: str) -> list[str]:
        return []

    async def forget(self, _change: object, _runs: object) -> None:
        """There is nothing."""


@dataclass(frozen=True)
class PlainLanguage:
    """Fulfils `Language`, for the runs of one plan."""

    known: Plan

    def plan(self, _order: Order) -> Plan:
        return self.known

    def words(self, _run: Run, _plan: Plan) -> Words:
        return PlainWords()


@dataclass(frozen=True)
class SilentJobs:
    """Fulfils `Jobs`: all jobs wait, and one thing is said of each."""

    message: str = ""

    async def get(self, id_: str) -> JobView:
        if not self.message:
            raise Unavailable("nobody answers")
        return JobView(id_, JobState.PENDING, self.message)


@dataclass
class Kept:
    """A world, and what is kept of it."""

    world: World
    database: MemoryDatabase = field(default_factory=lambda: MemoryDatabase(encode=no_facts, clock=SystemClock()))
    store: MemoryRunStore = field(default_factory=MemoryRunStore)
    artifacts: MemoryArtifactStore = field(default_factory=MemoryArtifactStore)
    jobs: SilentJobs = field(default_factory=SilentJobs)

    @property
    def runs(self) -> Runs:
        return Runs(store=self.store, traces=NoTraces())

    @property
    def listing(self) -> Listing:
        return Listing(store=self.store, runs=self.runs, language=PlainLanguage(self.world.plan))

    @property
    def explaining(self) -> Explaining:
        return Explaining(
            store=self.store,
            runs=self.runs,
            listing=self.listing,
            language=PlainLanguage(self.world.plan),
            artifacts=self.artifacts,
            jobs=self.jobs,
        )

    async def keep(self) -> None:
        """Keeps all that the world knows of its run."""
        world = self.world
        async with self.database.change(run_lock(world.run.id)) as change:
            if not await self.store.runs(change, [world.run.id]):
                await self.store.add(change, world.run)
            turn = Turn(run=world.run, nodes=list(world.nodes.values()), loops=list(world.loops.values()))
            await self.store.save(change, [turn])
