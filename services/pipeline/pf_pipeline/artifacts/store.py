"""Where artifact events and cached results are kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from pf_kit.unit import Change, View
from pf_pipeline.artifacts.domain import (
    ArtifactEvent,
    CachedResult,
    CacheKey,
    Claim,
    EventFilter,
    NodeKey,
    Place,
    ResultFilter,
    Shelf,
    Taken,
    Use,
    WorkKey,
)
from pf_pipeline.owners import Owner


class ArtifactStore(Protocol):
    """The port to the rows of artifact events, cached results and claims.

    Whoever writes about a run holds the lock of the run. Claims need no lock: of two changes that claim the same work
    the second waits for the first.
    """

    async def record(self, change: Change, events: Sequence[ArtifactEvent]) -> None:
        """Keeps events, in the place of those of the same node, use and name. The numbers are given out here."""

    async def events(self, view: View, chosen: EventFilter, before: int, limit: int) -> Sequence[ArtifactEvent]:
        """Events with numbers below one, newest first; 0 means from the newest on."""

    async def events_at(
        self, view: View, places: Sequence[Place], use: Use, seen_by: Owner | None, limit: int
    ) -> Sequence[ArtifactEvent]:
        """Events that are about artifacts at these places, newest first; those a user may see, or all."""

    async def events_of(self, view: View, nodes: Sequence[NodeKey], use: Use) -> Sequence[ArtifactEvent]:
        """Events of these nodes, by number."""

    async def add_results(self, change: Change, results: Sequence[CachedResult]) -> Sequence[CachedResult]:
        """Keeps results of steps that succeeded, and returns them with their numbers and times.

        A result of the same node takes the place of the one before.
        """

    async def results(self, view: View, chosen: ResultFilter, before: int, limit: int) -> Sequence[CachedResult]:
        """Results with numbers below one, newest first; 0 means from the newest on."""

    async def result(self, view: View, number: int) -> CachedResult | None:
        """The result of this number."""

    async def candidates(
        self, view: View, keys: Collection[CacheKey], now: datetime, each: int
    ) -> Mapping[CacheKey, Sequence[CachedResult]]:
        """Results by key, newest first, at most so many for each key, without those whose time is over.

        Keys for which there are none are left out. `used_by` and `explanation` are empty in them: they decide nothing.
        """

    async def nearest(self, view: View, shelf: Shelf, component: str, limit: int) -> Sequence[CachedResult]:
        """The newest results of a component, whatever their keys are, also those whose time is over.

        `used_by` is empty in them.
        """

    async def remove_results(self, change: Change, numbers: Collection[int]) -> None:
        """Forgets results. That runs took them stays known, because they still use the artifacts."""

    async def take(self, change: Change, taken: Sequence[Taken]) -> None:
        """Notes that runs took results; again changes nothing."""

    async def takers(self, view: View, makers: Collection[str]) -> Mapping[str, Sequence[str]]:
        """The runs that took results from runs, by these, in the order in which they did first; without runs from
        which nobody did.
        """

    async def claim(self, change: Change, claims: Sequence[Claim]) -> Mapping[WorkKey, NodeKey]:
        """Claims work of which nobody has a claim, and returns who has it now: the node itself, or another one.

        Of two nodes that claim the same at once, the first in the sequence has it. A node that claims anew what it has
        keeps it.
        """

    async def claimed(self, view: View, works: Collection[WorkKey]) -> Mapping[WorkKey, NodeKey]:
        """Who has claims to work, of those that are claimed."""

    async def holders(self, view: View, after: NodeKey | None, limit: int) -> Sequence[NodeKey]:
        """Nodes that have claims, by key; those after one. For whoever looks for claims of nodes that are over."""

    async def release(self, change: Change, nodes: Collection[NodeKey]) -> Sequence[WorkKey]:
        """Gives up all claims of nodes that are over, and returns what is free now."""

    async def release_runs(self, change: Change, runs: Collection[str]) -> Sequence[WorkKey]:
        """Gives up all claims of runs, and returns what is free now."""

    async def forget(self, change: Change, runs: Collection[str]) -> None:
        """Forgets all about runs: their events, results and claims, and what was taken by them or from them."""
