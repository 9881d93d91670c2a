"""Pipelines in memory, for tests: as durable as the process, and every list is sorted anew."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from paddleflow.problems import PipelineExists
from pf_kit.memory import tables
from pf_kit.unit import Change, View
from pf_pipeline.owners import Owner
from pf_pipeline.pipelines.domain import Pipeline, PipelineFilter, PipelineVersion

VersionKey = tuple[int, int]


class MemoryPipelineStore:
    """Fulfils `PipelineStore` over a `MemoryDatabase`."""

    async def next_number(self, change: Change) -> int:
        return _next(change, "pipelines")

    async def add(self, change: Change, pipeline: Pipeline, first: PipelineVersion) -> Pipeline:
        kept = _pipelines(change).values()
        if any((each.whose, each.name) == (pipeline.whose, pipeline.name) for each in kept):
            raise PipelineExists(f"{pipeline.owner} has a pipeline {pipeline.name!r}; add a version to it")
        await self.add_version(change, first)
        return await self.save(change, pipeline)

    async def pipeline(self, view: View, number: int) -> Pipeline | None:
        return _pipelines(view).get(number)

    async def page(self, view: View, chosen: PipelineFilter, before: int, limit: int) -> Sequence[Pipeline]:
        kept = _pipelines(view)
        return [
            kept[number]
            for number in sorted(kept, reverse=True)
            if (before == 0 or number < before) and _is_chosen(chosen, kept[number])
        ][:limit]

    async def owners(self, view: View) -> Sequence[Owner]:
        return sorted({each.whose for each in _pipelines(view).values()})

    async def owned(self, view: View, owner: Owner, limit: int) -> Sequence[Pipeline]:
        return [each for _, each in sorted(_pipelines(view).items()) if each.whose == owner][:limit]

    async def save(self, change: Change, pipeline: Pipeline) -> Pipeline:
        made = replace(pipeline, version=_next(change, "pipeline versions"))
        _pipelines(change)[pipeline.number] = made
        return made

    async def remove(self, change: Change, number: int) -> int:
        del _pipelines(change)[number]
        for key in [key for key in _versions(change) if key[0] == number]:
            del _versions(change)[key]
        return _next(change, "pipeline versions")

    async def version(self, view: View, pipeline: int, number: int) -> PipelineVersion | None:
        return _versions(view).get((pipeline, number))

    async def versions(
        self, view: View, pipeline: int, filesystems: Collection[str], before: int, limit: int
    ) -> Sequence[PipelineVersion]:
        kept = _versions(view)
        found = [kept[key] for key in sorted(kept, reverse=True) if key[0] == pipeline]
        return [
            replace(each, document="")
            for each in found
            if (before == 0 or each.number < before) and (not filesystems or each.filesystem in filesystems)
        ][:limit]

    async def add_version(self, change: Change, version: PipelineVersion) -> None:
        _versions(change)[version.pipeline, version.number] = version

    async def remove_version(self, change: Change, pipeline: int, number: int) -> None:
        del _versions(change)[pipeline, number]


def _pipelines(view: View) -> dict[int, Pipeline]:
    return tables(view).table("pipelines")


def _versions(view: View) -> dict[VersionKey, PipelineVersion]:
    return tables(view).table("pipeline_versions")


def _next(change: Change, what: str) -> int:
    numbers: dict[str, int] = tables(change).table("numbers")
    numbers[what] = numbers.get(what, 0) + 1
    return numbers[what]


def _is_chosen(chosen: PipelineFilter, pipeline: Pipeline) -> bool:
    return (
        (chosen.seen_by is None or pipeline.whose.is_of(chosen.seen_by))
        and (not chosen.owners or pipeline.owner in chosen.owners)
        and (not chosen.names or pipeline.name in chosen.names)
    )
