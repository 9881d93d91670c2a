"""Views of runs, as whoever shows runs wants them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paddleflow.pipeline.v1 import run_pb2
from pf_kit.principal import Principal
from pf_kit.unit import View
from pf_pipeline.owners import Owner
from pf_pipeline.pipelines.convert import form_of, sendable_drawing
from pf_pipeline.plans.domain import Plan
from pf_pipeline.runs.domain import NodeFilter, Order
from pf_pipeline.runs.ports import Shown
from pf_pipeline.runs.store import Place
from pf_pipeline.views.drawing import Drawing
from pf_pipeline.views.explaining import Explaining
from pf_pipeline.views.listing import Listing
from pf_pipeline.views.planning import Planning


@dataclass(frozen=True, slots=True, kw_only=True)
class RunViews:
    """Fulfils `Showing`."""

    listing: Listing
    explaining: Explaining
    planning: Planning
    drawing: Drawing

    async def nodes(
        self, view: View, caller: Principal, run: str, chosen: NodeFilter, after: Place, limit: int
    ) -> Sequence[Shown]:
        return await self.listing.page(view, caller, run, chosen, after, limit)

    async def explained(self, view: View, caller: Principal, run: str, path: str) -> run_pb2.ExplainNodeResponse:
        return await self.explaining.explained(view, caller, run, path)

    async def planned(self, owner: Owner, order: Order, plan: Plan) -> run_pb2.PlanRunResponse:
        return await self.planning.planned(owner, order, plan)

    async def drawn(self, view: View, caller: Principal, request: run_pb2.DrawRunRequest) -> str:
        form = form_of(request.form)
        return sendable_drawing(await self.drawing.drawn(view, caller, request.run_id, form), form)
