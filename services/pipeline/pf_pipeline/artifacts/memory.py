"""Artifacts in memory, for tests: as durable as the process, and every list is sorted anew."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from pf_kit.memory import tables
from pf_kit.unit import Change, View
from pf_pipeline.artifacts.domain import (
    FOR_EVER,
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

EventKey = tuple[NodeKey, Use, str]


class MemoryArtifactStore:
    """Fulfils `ArtifactStore` over a `MemoryDatabase`."""

    async def record(self, change: Change, events: Sequence[ArtifactEvent]) -> None:
        kept = _events(change)
        for event in events:
            key = (event.key, event.use, event.artifact)
            before = kept.get(key)
            number = before.number if before else _next(change)
            begun = before.create_time if before else change.time
            kept[key] = replace(event, number=number, create_time=begun, update_time=change.time)

    async def events(self, view: View, chosen: EventFilter, before: int, limit: int) -> Sequence[ArtifactEvent]:
        found = [event for event in _newest(view) if before == 0 or event.number < before]
        return [event for event in found if _is_chosen(chosen, event)][:limit]

    async def events_at(
        self, view: View, places: Sequence[Place], use: Use, seen_by: Owner | None, limit: int
    ) -> Sequence[ArtifactEvent]:
        wanted = {(place.filesystem_id, place.path) for place in places}
        return [
            event
            for event in _newest(view)
            if event.use is use
            and (seen_by is None or event.whose.is_of(seen_by))
            and any((event.filesystem_id, path) in wanted for path in event.paths)
        ][:limit]

    async def events_of(self, view: View, nodes: Sequence[NodeKey], use: Use) -> Sequence[ArtifactEvent]:
        found = [event for event in _newest(view) if event.key in nodes and event.use is use]
        return found[::-1]

    async def add_results(self, change: Change, results: Sequence[CachedResult]) -> Sequence[CachedResult]:
        return [self._add(change, result) for result in results]

    def _add(self, change: Change, result: CachedResult) -> CachedResult:
        kept = _results(change)
        before = next((each.number for each in kept.values() if each.made_by == result.made_by), None)
        number = _next(change) if before is None else before
        kept[number] = replace(result, number=number, create_time=change.time, update_time=change.time, used_by=())
        return kept[number]

    async def results(self, view: View, chosen: ResultFilter, before: int, limit: int) -> Sequence[CachedResult]:
        return [
            _with_takers(view, result)
            for result in _newest_results(view)
            if (before == 0 or result.number < before)
            and (not chosen.owners or result.cache_key.shelf.owner in chosen.owners)
            and (not chosen.filesystems or result.filesystem in chosen.filesystems)
            and (not chosen.runs or result.made_by.run in chosen.runs)
            and (chosen.seen_by is None or result.cache_key.shelf.whose.is_of(chosen.seen_by))
        ][:limit]

    async def result(self, view: View, number: int) -> CachedResult | None:
        found = _results(view).get(number)
        return _with_takers(view, found) if found else None

    async def candidates(
        self, view: View, keys: Collection[CacheKey], now: datetime, each: int
    ) -> Mapping[CacheKey, Sequence[CachedResult]]:
        kept: dict[CacheKey, list[CachedResult]] = {}
        for result in _newest_results(view):
            of_key = kept.get(result.cache_key, [])
            if result.cache_key in keys and len(of_key) < each and result.is_valid(now, FOR_EVER):
                kept[result.cache_key] = [*of_key, replace(result, explanation="{}")]
        return kept

    async def nearest(self, view: View, shelf: Shelf, component: str, limit: int) -> Sequence[CachedResult]:
        return [
            result
            for result in _newest_results(view)
            if result.cache_key.shelf == shelf and result.component == component
        ][:limit]

    async def remove_results(self, change: Change, numbers: Collection[int]) -> None:
        for number in numbers:
            _results(change).pop(number, None)

    async def take(self, change: Change, taken: Sequence[Taken]) -> None:
        results = _results(change)
        for each in taken:
            _takings(change).setdefault((each.result, each.taker), each)
            if each.result in results:
                results[each.result] = replace(results[each.result], update_time=change.time)

    async def takers(self, view: View, makers: Collection[str]) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for each in _takings(view).values():
            if each.maker in makers and each.taker not in found.setdefault(each.maker, []):
                found[each.maker].append(each.taker)
        return found

    async def claim(self, change: Change, claims: Sequence[Claim]) -> Mapping[WorkKey, NodeKey]:
        kept = _claims(change)
        return {claim.work: kept.setdefault(claim.work, claim.by) for claim in claims}

    async def claimed(self, view: View, works: Collection[WorkKey]) -> Mapping[WorkKey, NodeKey]:
        return {work: node for work, node in _claims(view).items() if work in works}

    async def holders(self, view: View, after: NodeKey | None, limit: int) -> Sequence[NodeKey]:
        return sorted({node for node in _claims(view).values() if after is None or node > after})[:limit]

    async def release(self, change: Change, nodes: Collection[NodeKey]) -> Sequence[WorkKey]:
        return _released(change, [work for work, node in _claims(change).items() if node in nodes])

    async def release_runs(self, change: Change, runs: Collection[str]) -> Sequence[WorkKey]:
        return _released(change, [work for work, node in _claims(change).items() if node.run in runs])

    async def forget(self, change: Change, runs: Collection[str]) -> None:
        await self.release_runs(change, runs)
        events, results, takings = _events(change), _results(change), _takings(change)
        for key in [key for key, event in events.items() if event.key.run in runs]:
            del events[key]
        for number in [number for number, result in results.items() if result.made_by.run in runs]:
            del results[number]
        for taking in [key for key, each in takings.items() if each.maker in runs or each.taker in runs]:
            del takings[taking]


def _events(view: View) -> dict[EventKey, ArtifactEvent]:
    return tables(view).table("artifact_events")


def _results(view: View) -> dict[int, CachedResult]:
    return tables(view).table("cached_results")


def _takings(view: View) -> dict[tuple[int, str], Taken]:
    return tables(view).table("cached_takings")


def _claims(view: View) -> dict[WorkKey, NodeKey]:
    return tables(view).table("cached_claims")


def _next(change: Change) -> int:
    numbers: dict[str, int] = tables(change).table("artifact_numbers")
    numbers["all"] = numbers.get("all", 0) + 1
    return numbers["all"]


def _newest(view: View) -> list[ArtifactEvent]:
    return sorted(_events(view).values(), key=lambda event: -event.number)


def _newest_results(view: View) -> Iterator[CachedResult]:
    return iter(sorted(_results(view).values(), key=lambda result: -result.number))


def _with_takers(view: View, result: CachedResult) -> CachedResult:
    takers = (each.taker for each in _takings(view).values() if each.result == result.number)
    return replace(result, used_by=tuple(takers))


def _released(change: Change, works: Sequence[WorkKey]) -> Sequence[WorkKey]:
    for work in works:
        del _claims(change)[work]
    return works


def _is_chosen(chosen: EventFilter, event: ArtifactEvent) -> bool:
    return (
        (not chosen.owners or event.owner in chosen.owners)
        and (not chosen.filesystems or event.filesystem in chosen.filesystems)
        and (not chosen.runs or event.key.run in chosen.runs)
        and (not chosen.uses or event.use in chosen.uses)
        and (not chosen.path_prefixes or any(path.startswith(chosen.path_prefixes) for path in event.paths))
        and (chosen.since is None or event.run_time >= chosen.since)
        and (chosen.until is None or event.run_time < chosen.until)
        and (chosen.seen_by is None or event.whose.is_of(chosen.seen_by))
    )
