"""What can be asked of artifacts and of cached results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from paddleflow.problems import CachedResultNotFound, NotFound
from pf_kit.fields import shown
from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_pipeline.artifacts.domain import ArtifactEvent, CachedResult, EventFilter, Place, ResultFilter
from pf_pipeline.artifacts.lineage import Lineage, trace
from pf_pipeline.artifacts.store import ArtifactStore
from pf_pipeline.owners import eyes, owns

_ID = re.compile(r"cch-0*([0-9]{1,18})", re.ASCII)


class Artifacts:
    """Artifacts and cached results, as callers may see them: those of their own runs, and root all."""

    def __init__(self, *, store: ArtifactStore) -> None:
        self._store = store

    async def events(
        self, view: View, caller: Principal, chosen: EventFilter, before: int, limit: int
    ) -> Sequence[ArtifactEvent]:
        """Events with numbers below one, newest first; 0 means from the newest on."""
        return await self._store.events(view, replace(chosen, seen_by=eyes(caller)), before, limit)

    async def lineage(self, view: View, caller: Principal, place: Place, depth: int) -> Lineage:
        """Where an artifact comes from and what became of it. Raises NotFound."""
        found = await trace(self._store, view, place, eyes(caller), depth)
        if not found.made_from and not found.made_into:
            raise NotFound(f"no run that you may see read or wrote {shown(place.path)} in {shown(place.filesystem_id)}")
        return found

    async def results(
        self, view: View, caller: Principal, chosen: ResultFilter, before: int, limit: int
    ) -> Sequence[CachedResult]:
        """Results with numbers below one, newest first; 0 means from the newest on."""
        return await self._store.results(view, replace(chosen, seen_by=eyes(caller)), before, limit)

    async def result(self, view: View, caller: Principal, id_: str) -> CachedResult:
        """The result of this id. Raises CachedResultNotFound."""
        match = _ID.fullmatch(id_)
        found = await self._store.result(view, int(match[1])) if match else None
        if found is None or not owns(caller, found.cache_key.shelf.whose):
            raise CachedResultNotFound(f"no cached result {shown(id_)}")
        return found

    async def delete(self, change: Change, caller: Principal, id_: str) -> None:
        """Forgets a result; the artifacts stay. Raises CachedResultNotFound."""
        found = await self.result(change, caller, id_)
        await self._store.remove_results(change, [found.number])


class Traces:
    """What is kept of runs here, for whoever forgets them."""

    def __init__(self, *, store: ArtifactStore) -> None:
        self._store = store

    async def used_by(self, view: View, run: str) -> Sequence[str]:
        """Runs that took results from a run, in the order in which they did first."""
        return (await self._store.takers(view, [run])).get(run, ())

    async def forget(self, change: Change, runs: Sequence[str]) -> None:
        """Forgets all about runs."""
        await self._store.forget(change, runs)
