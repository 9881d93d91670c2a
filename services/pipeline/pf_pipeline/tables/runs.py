"""A row for each run, and one for each node of each run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from pf_kit.unit import Database
from pf_pipeline.artifacts.domain import Period
from pf_pipeline.runs.domain import Node, NodeFilter, Run, RunFilter
from pf_pipeline.runs.store import BEGINNING, Place, RunStore
from pf_pipeline.tables.domain import Column, ColumnKind, Row

PAGE = 500
"""Runs that are read at once."""
RUN_COLUMNS = (
    Column("run_id"),
    Column("number", ColumnKind.WHOLE),
    Column("owner"),
    Column("name"),
    Column("pipeline"),
    Column("pipeline_id"),
    Column("pipeline_version", ColumnKind.WHOLE),
    Column("schedule_id"),
    Column("scheduled_time", ColumnKind.TIME),
    Column("retry_of"),
    Column("filesystem"),
    Column("state"),
    Column("message"),
    Column("create_time", ColumnKind.TIME),
    Column("start_time", ColumnKind.TIME),
    Column("finish_time", ColumnKind.TIME),
    Column("succeeded", ColumnKind.WHOLE),
    Column("failed", ColumnKind.WHOLE),
    Column("skipped", ColumnKind.WHOLE),
    Column("cancelled", ColumnKind.WHOLE),
    Column("cached", ColumnKind.WHOLE),
)
NODE_COLUMNS = (
    Column("run_id"),
    Column("path"),
    Column("name"),
    Column("kind"),
    Column("iteration", ColumnKind.WHOLE),
    Column("state"),
    Column("message"),
    Column("attempt", ColumnKind.WHOLE),
    Column("job_id"),
    Column("cache_run_id"),
    Column("image"),
    Column("start_time", ColumnKind.TIME),
    Column("finish_time", ColumnKind.TIME),
)


@dataclass(frozen=True, slots=True)
class RunRows:
    """Fulfils `RowSource`."""

    database: Database
    store: RunStore

    @property
    def columns(self) -> Sequence[Column]:
        return RUN_COLUMNS

    async def rows(self, period: Period, after: str, limit: int) -> Sequence[Row]:
        found: list[Row] = []
        async for run in _runs(self.database, self.store, period, int(after or 0)):
            found.append(_run_row(run))
            if len(found) == limit:
                break
        return found


@dataclass(frozen=True, slots=True)
class NodeRows:
    """Fulfils `RowSource`."""

    database: Database
    store: RunStore

    @property
    def columns(self) -> Sequence[Column]:
        return NODE_COLUMNS

    async def rows(self, period: Period, after: str, limit: int) -> Sequence[Row]:
        """A place names a run and a node of it."""
        number, _, last = after.partition(" ")
        place = _place(last)
        found: list[Row] = []
        # The run in which the page before ended may have more nodes.
        async for run in _runs(self.database, self.store, period, int(number) + 1 if number else 0):
            while nodes := await self.store.nodes(
                self.database.newest, run.id, NodeFilter(), place, limit - len(found)
            ):
                found += [_node_row(run, node) for node in nodes]
                if len(found) == limit:
                    return found
                place = nodes[-1].place, nodes[-1].iteration, nodes[-1].path
            place = BEGINNING
        return found


async def _runs(database: Database, store: RunStore, period: Period, before: int) -> AsyncIterator[Run]:
    """Runs of a period with numbers below one, newest first."""
    while page := await store.page(database.newest, RunFilter(seen_by=period.seen_by), before, PAGE):
        for run in page:
            made = run.life.create_time
            if period.since is not None and made < period.since:
                return
            if period.until is None or made < period.until:
                yield run
        before = page[-1].number


def _place(text: str) -> Place:
    if not text:
        return BEGINNING
    place, iteration, path = text.split(" ", 2)
    return int(place), int(iteration), path


def _run_row(run: Run) -> Row:
    order, life = run.order, run.life
    values = (
        run.id,
        run.number,
        run.owner,
        order.title,
        order.name,
        order.source.pipeline_id,
        order.source.pipeline_version,
        order.schedule_id,
        order.scheduled_time,
        order.retry_of,
        order.filesystem,
        life.state.value,
        life.message,
        life.create_time,
        life.start_time,
        life.finish_time,
        life.steps.succeeded,
        life.steps.failed,
        life.steps.skipped,
        life.steps.cancelled,
        life.steps.cached,
    )
    return Row(str(run.number), values)


def _node_row(run: Run, node: Node) -> Row:
    values = (
        run.id,
        node.path,
        node.name,
        node.kind.value,
        node.iteration,
        node.state.value,
        node.message,
        node.attempt,
        node.job,
        node.cache.run,
        node.work.docker_env,
        node.start_time,
        node.finish_time,
    )
    return Row(f"{run.number} {node.place} {node.iteration} {node.path}", values)
