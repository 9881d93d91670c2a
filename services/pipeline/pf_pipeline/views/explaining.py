"""Finds out all there is to say about a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paddleflow.pipeline.v1 import run_pb2
from paddleflow.problems import Problem
from pf_kit.principal import Principal
from pf_kit.unit import View
from pf_pipeline.artifacts.domain import CachedResult
from pf_pipeline.artifacts.store import ArtifactStore
from pf_pipeline.engine.core.restoring import places_of
from pf_pipeline.engine.ports import Language
from pf_pipeline.engine.questions import shelf_of
from pf_pipeline.plans.domain import Kind, Plan, Planned, PlannedDag, PlannedStep
from pf_pipeline.plans.paths import component
from pf_pipeline.runs.convert import node_message
from pf_pipeline.runs.domain import Node, NodeFilter, Run, Waiting
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.states import NodeState
from pf_pipeline.runs.store import BEGINNING, RunStore
from pf_pipeline.views import cached
from pf_pipeline.views.frames import planned_at
from pf_pipeline.views.listing import Listing
from pf_pipeline.views.ports import Jobs
from pf_pipeline.views.reasons import Beside, Facts, reasons

LIKE = 20
"""Results that are compared with a step."""
MOST_RUNS, MOST_NODES = 100, 1000
"""Runs, and nodes of each, among which those are looked for that hold a semaphore."""
UNDER_WAY = frozenset({NodeState.PENDING, NodeState.RUNNING, NodeState.TERMINATING})
IN_JOB = frozenset({NodeState.RUNNING, NodeState.TERMINATING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Explaining:
    """Explains nodes of runs."""

    store: RunStore
    runs: Runs
    listing: Listing
    language: Language
    artifacts: ArtifactStore
    jobs: Jobs

    async def explained(self, view: View, caller: Principal, id_: str, path: str) -> run_pb2.ExplainNodeResponse:
        """Why a node stands where it stands. Raises RunNotFound and NodeNotFound."""
        run = await self.runs.get(view, caller, id_)
        node = await self.listing.node(view, run, path)
        plan = self.language.plan(run.order)
        planned = planned_at(plan, node)
        facts = Facts(
            run=run,
            plan=plan,
            node=node,
            planned=planned,
            deps=await self._deps(view, plan, node),
            holders=await self._holders(view, run, node) if node.waiting is Waiting.SEMAPHORE else (),
            job=await self._job(node),
            causes=await self._causes(view, node) if isinstance(planned, PlannedDag) else (),
            progress=await self._progress(view, plan, node, planned),
        )
        told = run_pb2.ExplainNodeResponse(node=node_message(node, planned), reasons=reasons(facts))
        if isinstance(planned, PlannedStep):
            explanation = cached.explained(node, planned, await self._like(view, run, plan, node, planned))
            if explanation is not None:
                told.cache.CopyFrom(explanation)
        return told

    async def _deps(self, view: View, plan: Plan, node: Node) -> Sequence[Beside]:
        """Those that a node waits for, or because of which it never began."""
        names = node.waiting_on if node.waiting is Waiting.DEPENDENCIES else ()
        names = node.deps if node.state is NodeState.CANCELLED else names
        if not names:
            return ()
        first = node.path.removesuffix(f"[{node.iteration}]") if node.iteration else node.path
        prefix, places = first.removesuffix(node.name), places_of(plan)
        asked = {f"{prefix}{name}": places[component(f"{prefix}{name}")] for name in names}
        progress = await self.store.progress(view, node.run, asked)
        return [
            Beside(name, await self.store.node(view, node.run, path), progress[path].over, progress[path].items)
            for name, path in zip(names, asked, strict=True)
        ]

    async def _holders(self, view: View, run: Run, node: Node) -> Sequence[str]:
        """Steps of the same owner that hold a semaphore that a node waits for."""
        ids = (await self.store.unfinished(view))[:MOST_RUNS]
        found: list[str] = []
        for each in await self.store.runs(view, ids):
            if each.whose == run.whose:
                found += await self._holders_in(view, each, node.waiting_on)
        return found

    async def _holders_in(self, view: View, run: Run, names: Sequence[str]) -> Sequence[str]:
        plan = self.language.plan(run.order)
        if not any(name in plan.semaphores for name in names):
            return []
        nodes = await self.store.nodes(view, run.id, NodeFilter(states=UNDER_WAY), BEGINNING, MOST_NODES)
        return [f"{run.id} {node.path}" for node in nodes if _holds(node, planned_at(plan, node), names)]

    async def _job(self, node: Node) -> str:
        """What its job service says of the job of a step under way; nothing if nobody answers."""
        if not node.job or node.state not in UNDER_WAY:
            return ""
        try:
            return (await self.jobs.get(node.job)).message
        except Problem:
            return ""

    async def _causes(self, view: View, node: Node) -> Sequence[Node]:
        if node.state is not NodeState.FAILED:
            return ()
        failed = NodeFilter(below=node.path, states=frozenset({NodeState.FAILED}))
        nodes = await self.store.nodes(view, node.run, failed, BEGINNING, MOST_NODES)
        return [each for each in nodes if each.kind is not Kind.DAG]

    async def _progress(self, view: View, plan: Plan, node: Node, planned: Planned | None) -> tuple[int, int]:
        if not isinstance(planned, PlannedDag) or node.state is not NodeState.RUNNING:
            return 0, 0
        places = places_of(plan)
        asked = {f"{node.path}.{name}": places[component(f"{node.path}.{name}")] for name in planned.children}
        progress = await self.store.progress(view, node.run, asked)
        return sum(each.is_over for each in progress.values()), len(planned.children)

    async def _like(self, view: View, run: Run, plan: Plan, node: Node, planned: PlannedStep) -> Sequence[CachedResult]:
        """The newest results of the same component."""
        if not node.cache.key or node.cache.run:
            return ()
        return await self.artifacts.nearest(view, shelf_of(run, plan, planned), component(node.path), LIKE)


def _holds(node: Node, planned: Planned | None, names: Sequence[str]) -> bool:
    """True if a step has what it needs, which is from its turn on to its end."""
    if not isinstance(planned, PlannedStep) or not set(names) & set(planned.semaphores):
        return False
    return node.state in IN_JOB or node.waiting in (Waiting.JOB, Waiting.CACHE) or _reads_results(node)


def _reads_results(node: Node) -> bool:
    return node.waiting is Waiting.FILES and node.attempt > 0
