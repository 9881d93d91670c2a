"""Runs that are thought through, over what is kept in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import dedent
from typing import Any

from paddleflow.pipeline.v1 import run_pb2
from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_pipeline.artifacts.domain import CachedResult
from pf_pipeline.artifacts.judging import Judging, Known, Miss
from pf_pipeline.artifacts.memory import MemoryArtifactStore
from pf_pipeline.artifacts.reading import Reading
from pf_pipeline.engine.core.happening import Judge
from pf_pipeline.engine.questions import question_of
from pf_pipeline.engine.speaking import PipelineLanguage
from pf_pipeline.owners import Owner
from pf_pipeline.plans.domain import Plan
from pf_pipeline.runs.domain import Order, Run
from pf_pipeline.runs.taking import Plans
from pf_pipeline.views.foretelling import Foretelling, Foretold
from pf_pipeline.views.planning import Planning
from pf_pipeline.views.rehearsing import Rehearsing
from support.fake_files import FakeFiles
from support.stored_runs import no_facts

OWNER = "ada"


class Listening(Foretelling):
    """Remembers what the cache was asked about, as it is asked."""

    def __init__(self, judging: Judging) -> None:
        super().__init__(judging)
        self.heard: dict[str, tuple[Run, Plan, Judge]] = {}

    async def foretell(self, run: Run, plan: Plan, wanted: Sequence[Judge]) -> Sequence[Foretold]:
        self.heard.update((each.node.path, (run, plan, each)) for each in wanted)
        return await super().foretell(run, plan, wanted)


@dataclass
class Site:
    """Tells what runs would do."""

    database: MemoryDatabase = field(default_factory=lambda: MemoryDatabase(encode=no_facts, clock=SystemClock()))
    store: MemoryArtifactStore = field(default_factory=MemoryArtifactStore)
    files: FakeFiles = field(default_factory=FakeFiles)
    plans: Plans = field(default_factory=Plans)

    def __post_init__(self) -> None:
        reading = Reading(files=self.files)
        self.judging = Judging(database=self.database, store=self.store, reading=reading, clock=SystemClock())
        self.foretelling = Listening(self.judging)

    async def told(self, document: str, **said: Any) -> run_pb2.PlanRunResponse:
        order = Order(
            name="", document=dedent(document), filesystem="disk", filesystem_id="fs", mounts={"disk": "fs"}, **said
        )
        plan = self.plans.plan(order)
        order = replace(order, name=plan.name, origin="path:p.yaml")
        rehearsing = Rehearsing(PipelineLanguage(self.plans), self.foretelling)
        return await Planning(rehearsing, SystemClock()).planned(Owner(OWNER), order, self.plans.plan(order))

    async def nodes(self, document: str, **said: Any) -> Mapping[str, run_pb2.PlannedNode]:
        return {each.node.path: each for each in (await self.told(document, **said)).nodes}

    async def remember(self, path: str, run: str) -> CachedResult:
        """Another run has done what a step would do of which the cache was asked."""
        asked, plan, judge = self.foretelling.heard[path]
        made = replace(judge, node=replace(judge.node, run=run))
        question = question_of(replace(asked, id=run), plan, made)
        (answer,) = await self.judging.judge([question], _free)
        assert isinstance(answer, Miss)
        return await self._kept(answer.known, judge, run)

    async def _kept(self, known: Known, judge: Judge, run: str) -> CachedResult:
        outputs = {name: f"{run}/{name}" for name in judge.planned.outputs}
        for path in outputs.values():
            self.files.write(path, "content")
        results: dict[str, Any] = dict.fromkeys(judge.planned.results, 7)
        result = await self.judging.finished(known, outputs, results, "job", "disk")
        assert result is not None
        async with self.database.change() as change:
            (stored,) = await self.store.add_results(change, [result])
            await self.store.release(change, [known.question.by])
        return stored


async def _free(_change: object) -> None:
    """Nobody else drives."""
