"""Pipelines in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from paddleflow.problems import PipelineExists
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import Row, on_constraint, rows
from pf_kit.unit import Change, View
from pf_pipeline.owners import Owner
from pf_pipeline.pipelines.domain import Pipeline, PipelineFilter, PipelineVersion


class PostgresPipelineStore:
    """Fulfils `PipelineStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_pipeline.pipelines")

    async def next_number(self, change: Change) -> int:
        number: int = await rows(change).fetchval(self._sql["next_number"])
        return number

    async def add(self, change: Change, pipeline: Pipeline, first: PipelineVersion) -> Pipeline:
        exists = PipelineExists(f"{pipeline.owner} has a pipeline {pipeline.name!r}; add a version to it")
        with on_constraint(pipelines_name=exists):
            made = (pipeline.number, pipeline.owner, pipeline.owner_since, pipeline.name, pipeline.create_time)
            version = await rows(change).fetchval(self._sql["add"], *made, *_life(pipeline))
        await self.add_version(change, first)
        return replace(pipeline, version=version)

    async def pipeline(self, view: View, number: int) -> Pipeline | None:
        row = await rows(view).fetchrow(self._sql["pipeline"], number)
        return _pipeline(row) if row else None

    async def page(self, view: View, chosen: PipelineFilter, before: int, limit: int) -> Sequence[Pipeline]:
        words = (sorted(chosen.owners) or None, sorted(chosen.names) or None)
        eyes = (chosen.seen_by.name, chosen.seen_by.since) if chosen.seen_by else (None, None)
        return [_pipeline(row) for row in await rows(view).fetch(self._sql["page"], before, limit, *words, *eyes)]

    async def owners(self, view: View) -> Sequence[Owner]:
        return [Owner(row["owner"], row["owner_since"]) for row in await rows(view).fetch(self._sql["owners"])]

    async def owned(self, view: View, owner: Owner, limit: int) -> Sequence[Pipeline]:
        return [_pipeline(row) for row in await rows(view).fetch(self._sql["owned"], owner.name, owner.since, limit)]

    async def save(self, change: Change, pipeline: Pipeline) -> Pipeline:
        version = await rows(change).fetchval(self._sql["save"], pipeline.number, *_life(pipeline))
        return replace(pipeline, version=version)

    async def remove(self, change: Change, number: int) -> int:
        version: int = await rows(change).fetchval(self._sql["remove"], number)
        return version

    async def version(self, view: View, pipeline: int, number: int) -> PipelineVersion | None:
        row = await rows(view).fetchrow(self._sql["version"], pipeline, number)
        return _version(row) if row else None

    async def versions(
        self, view: View, pipeline: int, filesystems: Collection[str], before: int, limit: int
    ) -> Sequence[PipelineVersion]:
        wanted = sorted(filesystems) or None
        return [_version(row) for row in await rows(view).fetch(self._sql["versions"], pipeline, wanted, before, limit)]

    async def add_version(self, change: Change, version: PipelineVersion) -> None:
        await rows(change).execute(
            self._sql["add_version"],
            version.pipeline,
            version.number,
            version.document,
            version.digest,
            version.filesystem,
            version.path,
            version.author,
            version.create_time,
        )

    async def remove_version(self, change: Change, pipeline: int, number: int) -> None:
        await rows(change).execute(self._sql["remove_version"], pipeline, number)


def _life(pipeline: Pipeline) -> tuple[object, ...]:
    """What of a pipeline may change, in the order of the queries."""
    return (pipeline.description, pipeline.newest, pipeline.last, pipeline.update_time)


def _pipeline(row: Row) -> Pipeline:
    return Pipeline(**row)


def _version(row: Row) -> PipelineVersion:
    return PipelineVersion(**row)
