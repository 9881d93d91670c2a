"""All that can be said of runs beside what is kept of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from paddleflow.pipeline.v1 import run_pb2
from pf_kit.clock import Clock
from pf_kit.principal import Principal
from pf_kit.unit import View
from pf_pipeline.drawings.plans import render
from pf_pipeline.engine.ports import Language
from pf_pipeline.pipelines.convert import form_of
from pf_pipeline.plans.domain import Plan
from pf_pipeline.runs.domain import Node, NodeFilter, Order
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.store import Place, RunStore
from pf_pipeline.views.drawing import picture_of
from pf_pipeline.views.explaining import Explaining
from pf_pipeline.views.listing import Listing
from pf_pipeline.views.planning import Planning


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """Fulfils `Showing`."""

    store: RunStore
    runs: Runs
    language: Language
    clock: Clock
    listing: Listing
    explaining: Explaining
    planning: Planning

    async def nodes(
        self, view: View, caller: Principal, run: str, chosen: NodeFilter, after: Place, limit: int
    ) -> Sequence[Node]:
        """Nodes of a run in their order, those among them that have not begun, as far as they are known."""
        return await self.listing.page(view, caller, run, chosen, after, limit)

    async def explained(self, view: View, caller: Principal, run: str, path: str) -> run_pb2.ExplainNodeResponse:
        """Why a node stands where it stands."""
        return await self.explaining.explained(view, caller, run, path)

    async def planned(self, owner: str, order: Order, plan: Plan) -> run_pb2.PlanRunResponse:
        """What a run would do."""
        return await self.planning.planned(owner, order, plan)

    async def drawn(self, view: View, caller: Principal, request: run_pb2.DrawRunRequest) -> str:
        """A drawing of a run."""
        form = form_of(request.form)
        run = await self.runs.get(view, caller, request.run_id)
        standings = await self.store.standings(view, run.id)
        picture = picture_of(run, self.language.plan(run.order), standings, self.clock.now())
        return await asyncio.to_thread(render, picture, form)
