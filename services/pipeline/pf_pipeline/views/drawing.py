"""Draws runs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pf_kit.clock import Clock
from pf_kit.principal import Principal
from pf_kit.unit import View
from pf_pipeline.drawings.plans import render
from pf_pipeline.engine.ports import Language
from pf_pipeline.pipelines.ports import Form
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.store import RunStore
from pf_pipeline.views.pictures import picture_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Draws runs with what has become of them so far."""

    store: RunStore
    runs: Runs
    language: Language
    clock: Clock

    async def drawn(self, view: View, caller: Principal, id_: str, form: Form) -> str:
        """A run in a form. Raises RunNotFound."""
        run = await self.runs.get(view, caller, id_)
        standings = await self.store.standings(view, run.id)
        picture = picture_of(run, self.language.plan(run.order), standings, self.clock.now())
        # A large one takes seconds.
        return await asyncio.to_thread(render, picture, form)
