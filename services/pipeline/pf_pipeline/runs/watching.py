"""What runs mean to those who watch them."""

from __future__ import annotations

from collections.abc import Sequence

from paddleflow.pipeline.v1 import run_pb2
from pf_kit.events import Event
from pf_kit.principal import Principal
from pf_kit.unit import View
from pf_pipeline.owners import eyes, owns
from pf_pipeline.runs.convert import RUN_EVENT, existing, owner_in
from pf_pipeline.runs.domain import RunFilter
from pf_pipeline.runs.states import RUN_OVER, RunState
from pf_pipeline.runs.store import RunStore

ALL = 1_000_000
"""More unfinished runs than there are."""
UNFINISHED = frozenset(RunState) - RUN_OVER


class Teller:
    """Says what things mean to one watcher."""

    def __init__(self, *, store: RunStore, caller: Principal, request: run_pb2.WatchRunsRequest) -> None:
        self._store = store
        self._caller = caller
        self._id = request.id
        self._owner = request.owner

    async def existing(self, view: View) -> Sequence[run_pb2.RunEvent]:
        """The runs as they are: those that are not over, or the one that is asked for."""
        ids = frozenset({self._id} if self._id else ())
        owners = frozenset({self._owner} if self._owner else ())
        states = frozenset() if ids else UNFINISHED
        chosen = RunFilter(ids=ids, owners=owners, states=states, seen_by=eyes(self._caller))
        found = await self._store.page(view, chosen, 0, ALL)
        return [existing(run) for run in reversed(found)]

    async def changes(self, event: Event) -> Sequence[run_pb2.RunEvent]:
        """What an event means; often nothing."""
        if event.fact.type != RUN_EVENT or (self._id and event.fact.subject != f"run/{self._id}"):
            return []
        told = run_pb2.RunEvent.FromString(event.fact.payload)
        wanted = self._owner in ("", told.run.owner) and owns(self._caller, owner_in(told.run))
        return [told] if wanted else []
