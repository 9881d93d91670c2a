"""Artifacts in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import Row, rows
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
from pf_pipeline.artifacts.rows import (
    claim_values,
    event_values,
    key_values,
    outputs_of,
    result_values,
    results_of,
    work_values,
)
from pf_pipeline.owners import Owner

T = TypeVar("T")


class PostgresArtifactStore:
    """Fulfils `ArtifactStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_pipeline.artifacts")

    async def record(self, change: Change, events: Sequence[ArtifactEvent]) -> None:
        # The same twice cannot be in one statement; the last one counts.
        last = {(event.key, event.use, event.artifact): event_values(event) for event in events}
        if last:
            await rows(change).execute(self._sql["record"], *_columns([*last.values()]), change.time)

    async def events(self, view: View, chosen: EventFilter, before: int, limit: int) -> Sequence[ArtifactEvent]:
        found = await rows(view).fetch(
            self._sql["events"],
            before,
            limit,
            list(chosen.owners) or None,
            list(chosen.filesystems) or None,
            list(chosen.runs) or None,
            list(chosen.uses) or None,
            list(chosen.path_prefixes) or None,
            chosen.since,
            chosen.until,
            *_eyes(chosen.seen_by),
        )
        return [_event(row) for row in found]

    async def events_at(
        self, view: View, places: Sequence[Place], use: Use, seen_by: Owner | None, limit: int
    ) -> Sequence[ArtifactEvent]:
        if not places:
            return []
        columns = _columns([(place.filesystem_id, place.path) for place in places])
        return [
            _event(row) for row in await rows(view).fetch(self._sql["events_at"], *columns, use, limit, *_eyes(seen_by))
        ]

    async def events_of(self, view: View, nodes: Sequence[NodeKey], use: Use) -> Sequence[ArtifactEvent]:
        if not nodes:
            return []
        found = await rows(view).fetch(self._sql["events_of"], *_nodes(set(nodes)), use)
        return [_event(row) for row in found]

    async def add_results(self, change: Change, results: Sequence[CachedResult]) -> Sequence[CachedResult]:
        if not results:
            return []
        columns = _columns([result_values(result) for result in results])
        kept = {_node(row): row for row in await rows(change).fetch(self._sql["add_results"], *columns, change.time)}
        return [_stored(result, kept[result.made_by]) for result in results]

    async def results(self, view: View, chosen: ResultFilter, before: int, limit: int) -> Sequence[CachedResult]:
        found = await rows(view).fetch(
            self._sql["results"],
            before,
            limit,
            list(chosen.owners) or None,
            list(chosen.filesystems) or None,
            list(chosen.runs) or None,
            *_eyes(chosen.seen_by),
        )
        return [_result(row) for row in found]

    async def result(self, view: View, number: int) -> CachedResult | None:
        row = await rows(view).fetchrow(self._sql["result"], number)
        return _result(row) if row else None

    async def candidates(
        self, view: View, keys: Collection[CacheKey], now: datetime, each: int
    ) -> Mapping[CacheKey, Sequence[CachedResult]]:
        if not keys:
            return {}
        columns = _columns([key_values(key) for key in set(keys)])
        kept: dict[CacheKey, list[CachedResult]] = {}
        for row in await rows(view).fetch(self._sql["candidates"], *columns, now, each):
            result = _result(row)
            kept.setdefault(result.cache_key, []).append(result)
        return kept

    async def nearest(self, view: View, shelf: Shelf, component: str, limit: int) -> Sequence[CachedResult]:
        words = (shelf.owner, shelf.filesystem_id, shelf.origin, component, shelf.owner_since)
        return [_result(row) for row in await rows(view).fetch(self._sql["nearest"], *words, limit)]

    async def remove_results(self, change: Change, numbers: Collection[int]) -> None:
        await rows(change).execute(self._sql["remove_results"], list(numbers))

    async def take(self, change: Change, taken: Sequence[Taken]) -> None:
        if taken:
            columns = _columns([(each.result, each.maker, each.taker) for each in taken])
            await rows(change).execute(self._sql["take"], *columns)
            await rows(change).execute(self._sql["touch_results"], columns[0], change.time)

    async def takers(self, view: View, makers: Collection[str]) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for row in await rows(view).fetch(self._sql["takers"], list(makers)):
            found.setdefault(row["maker"], []).append(row["taker"])
        return found

    async def claim(self, change: Change, claims: Sequence[Claim]) -> Mapping[WorkKey, NodeKey]:
        # The same twice cannot be in one statement; the first one has it.
        first = {claim.work: claim_values(claim) for claim in reversed(claims)}
        if not first:
            return {}
        found = await rows(change).fetch(self._sql["claim"], *_columns([*first.values()]))
        return {_work(row): _node(row) for row in found}

    async def claimed(self, view: View, works: Collection[WorkKey]) -> Mapping[WorkKey, NodeKey]:
        if not works:
            return {}
        columns = _columns([work_values(work) for work in set(works)])
        return {_work(row): _node(row) for row in await rows(view).fetch(self._sql["claimed"], *columns)}

    async def holders(self, view: View, after: NodeKey | None, limit: int) -> Sequence[NodeKey]:
        place = after or NodeKey("", "")
        return [_node(row) for row in await rows(view).fetch(self._sql["holders"], place.run, place.node, limit)]

    async def release(self, change: Change, nodes: Collection[NodeKey]) -> Sequence[WorkKey]:
        if not nodes:
            return []
        return [_work(row) for row in await rows(change).fetch(self._sql["release"], *_nodes(nodes))]

    async def release_runs(self, change: Change, runs: Collection[str]) -> Sequence[WorkKey]:
        return [_work(row) for row in await rows(change).fetch(self._sql["release_runs"], list(runs))]

    async def forget(self, change: Change, runs: Collection[str]) -> None:
        await rows(change).execute(self._sql["forget"], list(runs))


def _columns(values: Sequence[Sequence[T]]) -> Sequence[Sequence[T]]:
    """The same, column by column; there is at least one row."""
    return [list(column) for column in zip(*values, strict=True)]


def _nodes(nodes: Collection[NodeKey]) -> Sequence[Sequence[str]]:
    return _columns([(node.run, node.node) for node in nodes])


def _eyes(user: Owner | None) -> tuple[str | None, datetime | None]:
    """Only what is of this user, if there is one, is to be found."""
    return (user.name, user.since) if user else (None, None)


def _node(row: Row) -> NodeKey:
    return NodeKey(row["run"], row["node"])


def _cache_key(row: Row) -> CacheKey:
    return CacheKey(Shelf(row["owner"], row["filesystem_id"], row["origin"], row["owner_since"]), row["step_key"])


def _work(row: Row) -> WorkKey:
    return WorkKey(_cache_key(row), row["files_key"])


def _event(row: Row) -> ArtifactEvent:
    return ArtifactEvent(
        key=_node(row),
        use=Use(row["use"]),
        artifact=row["artifact"],
        step=row["step"],
        filesystem_id=row["filesystem_id"],
        filesystem=row["filesystem"],
        owner=row["owner"],
        owner_since=row["owner_since"],
        paths=tuple(row["paths"]),
        meta=row["meta"],
        digest=row["digest"],
        job=row["job"],
        cached=row["cached"],
        run_time=row["run_time"],
        number=row["number"],
        create_time=row["create_time"],
        update_time=row["update_time"],
    )


def _result(row: Row) -> CachedResult:
    return CachedResult(
        cache_key=_cache_key(row),
        files=row["files_key"],
        made_by=_node(row),
        component=row["component"],
        job=row["job"],
        filesystem=row["filesystem"],
        max_expired_time=row["max_expired_time"],
        outputs=outputs_of(row["outputs"]),
        results=results_of(row["results"]),
        explanation=row["explanation"],
        number=row["number"],
        used_by=tuple(row["used_by"]),
        create_time=row["create_time"],
        update_time=row["update_time"],
    )


def _stored(result: CachedResult, row: Row) -> CachedResult:
    return replace(
        result, number=row["number"], create_time=row["create_time"], update_time=row["update_time"], used_by=()
    )
