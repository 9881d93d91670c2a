"""Nodes of a run: those that are kept, and those that it has come to and that have not begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from paddleflow.problems import NodeNotFound
from pf_kit.principal import Principal
from pf_kit.unit import View
from pf_pipeline.engine.core.restoring import places_of
from pf_pipeline.engine.core.state import Phase
from pf_pipeline.engine.ports import Language
from pf_pipeline.plans.domain import Kind, Plan
from pf_pipeline.runs.domain import Node, NodeFilter, Progress, Run
from pf_pipeline.runs.ports import Shown
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.states import RUN_OVER, NodeState, Stop
from pf_pipeline.runs.store import BEGINNING, Place, RunStore
from pf_pipeline.views.frames import (
    Component,
    Frame,
    asked,
    components,
    dag_frames,
    dag_paths,
    is_halting,
    node_of,
    only_if,
    phase_frame,
    planned_at,
    unbegun,
    upcoming_frames,
)

PAGE = 1000
"""Components that are looked at together."""
BAD = frozenset({NodeState.FAILED, NodeState.TERMINATED})


def place_of(node: Node) -> Place:
    return node.place, node.iteration, node.path


@dataclass(frozen=True, slots=True)
class Opened:
    """What a run has come to."""

    frames: Sequence[Frame] = ()
    places: Mapping[str, int] = field(default_factory=dict)

    def components(self) -> Sequence[Component]:
        return components(self.frames, self.places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Lists the nodes of runs."""

    store: RunStore
    runs: Runs
    language: Language

    async def page(
        self, view: View, caller: Principal, id_: str, chosen: NodeFilter, after: Place, limit: int
    ) -> Sequence[Shown]:
        """Nodes after a place, in their order. Raises RunNotFound."""
        run = await self.runs.get(view, caller, id_)
        # What is kept is read last: whatever begins in between is told as it is kept.
        waiting = await self._unbegun(view, run, chosen, after, limit)
        found = {node.path: node for node in waiting}
        found.update((node.path, node) for node in await self.store.nodes(view, id_, chosen, after, limit))
        plan = self.language.plan(run.order)
        return [Shown(node, planned_at(plan, node)) for node in sorted(found.values(), key=place_of)[:limit]]

    async def node(self, view: View, run: Run, path: str) -> Node:
        """The node of a path, begun or not. Raises NodeNotFound."""
        node = await self.store.node(view, run.id, path) if "\0" not in path else None
        if node is None and run.life.state not in RUN_OVER:
            node = await self._waiting_at(view, run, path)
        if node is None:
            raise NodeNotFound(f"run {run.id!r} has no node {path[:200]!r}, or has not come to it")
        return node

    async def opened(self, view: View, run: Run) -> Opened:
        """What a run has come to where something may begin yet."""
        plan = self.language.plan(run.order)
        places = places_of(plan)
        phase = await self._phase(view, run, plan, places)
        first_bad = await self._first_bad(view, run)
        good = (first_bad is None or first_bad.kind is Kind.EXIT_HANDLER) and not run.life.steps.cancelled
        later = () if run.life.stop is Stop.FORCE else upcoming_frames(plan, phase, good=good)
        if is_halting(run, plan, phase, first_bad):
            return Opened([*later], places)
        top = phase_frame(plan, phase, good=good)
        dags = [places[path] for path in dag_paths(plan)] if phase is Phase.MAIN else []
        running = await self.store.running(view, run.id, dags) if dags else []
        return Opened([top, *dag_frames(plan, running), *later], places)

    async def _unbegun(self, view: View, run: Run, chosen: NodeFilter, after: Place, limit: int) -> Sequence[Node]:
        if run.life.state in RUN_OVER or (chosen.states and NodeState.PENDING not in chosen.states):
            return []
        opened = await self.opened(view, run)
        candidates = [each for each in opened.components() if each.place >= after[0] and each.concerns(chosen)]
        found: list[Node] = []
        for at in range(0, len(candidates), PAGE):
            some = candidates[at : at + PAGE]
            progress = await self.store.progress(view, run.id, asked(some, opened.places))
            nodes = [node for each in some if (node := unbegun(run, each, progress))]
            found += [node for node in nodes if place_of(node) > after and chosen.fits(node)]
            if len(found) >= limit:
                break
        return found

    async def _waiting_at(self, view: View, run: Run, path: str) -> Node | None:
        """A node that has not begun, also one that a list tells together with others."""
        opened = await self.opened(view, run)
        for each in opened.components():
            if path == each.path or path.startswith(f"{each.path}["):
                return await self._waiting_of(view, run, each, path, opened.places)
        return None

    async def _waiting_of(
        self, view: View, run: Run, component: Component, path: str, places: Mapping[str, int]
    ) -> Node | None:
        progress = await self.store.progress(view, run.id, asked([component], places))
        number = path.removeprefix(f"{component.path}[").removesuffix("]") if path != component.path else "0"
        iteration = int(number) if number.isdecimal() and len(number) < 10 else -1
        if component.path_of(iteration) != path or iteration >= _most(progress[component.path]):
            return None
        return node_of(run, component, progress, iteration, only_if(component))

    async def _phase(self, view: View, run: Run, plan: Plan, places: Mapping[str, int]) -> Phase:
        """The phase of a run that is not over. One that begins keeps something in the same moment."""
        exits = [places[f"on_exit/{each.name}"] for each in plan.on_exit]
        post = [places[f"post_process/{plan.post_process.name}"]] if plan.post_process else []
        for phase, first in ((Phase.EXIT, min(exits, default=None)), (Phase.POST, min(post, default=None))):
            if first is not None and await self.store.nodes(view, run.id, NodeFilter(), (first, -1, ""), 1):
                return phase
        return Phase.MAIN

    async def _first_bad(self, view: View, run: Run) -> Node | None:
        """The first node that failed or was stopped, in the order of the document."""
        steps = run.life.steps
        if not steps.failed and not steps.cancelled:
            return None
        return next(iter(await self.store.nodes(view, run.id, NodeFilter(states=BAD), BEGINNING, 1)), None)


def _most(progress: Progress) -> int:
    return 1 if progress.items is None else progress.items
