"""Runs in Postgres."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from paddleflow.problems import Conflict
from pf_kit.postgres.errors import on_constraint
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import Row, rows
from pf_kit.unit import Change, View
from pf_pipeline.documents.model import Value
from pf_pipeline.owners import Owner
from pf_pipeline.runs.domain import (
    Happening,
    Leaving,
    Loop,
    Node,
    NodeFilter,
    Progress,
    Run,
    RunFilter,
    Standing,
    Wanted,
    Wish,
)
from pf_pipeline.runs.rows import life_of, node_of, order_of, told, value_of
from pf_pipeline.runs.states import NODE_OVER, NodeState, RunState
from pf_pipeline.runs.store import Place, Turn


class PostgresRunStore:
    """Fulfils `RunStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_pipeline.runs")

    async def new_id(self, change: Change) -> str:
        return f"run-{await rows(change).fetchval(self._sql['new_id']):06d}"

    async def add(self, change: Change, run: Run) -> Run:
        order, life = run.order, run.life
        bare = replace(order, document="")
        number = await rows(change).fetchval(
            self._sql["add_run"],
            run.id,
            run.owner,
            run.owner_since,
            order.title,
            order.filesystem,
            order.schedule_id,
            order.source.pipeline_id,
            order.document,
            told(bare),
        )
        version = await rows(change).fetchval(
            self._sql["add_life"], run.id, life.state, life.finish_time, told(life), change.time
        )
        return replace(run, number=number, version=version, update_time=change.time)

    async def new_ids(self, change: Change, count: int) -> Sequence[str]:
        return [f"run-{row['number']:06d}" for row in await rows(change).fetch(self._sql["new_ids"], count)]

    async def add_all(self, change: Change, runs: Sequence[Run]) -> Sequence[Run]:
        columns = _columns((_whole(run) for run in runs), 12)
        found = {row["id"]: row for row in await rows(change).fetch(self._sql["add_all"], *columns, change.time)}
        return [
            replace(run, number=found[run.id]["number"], version=found[run.id]["version"], update_time=change.time)
            for run in runs
        ]

    async def runs(self, view: View, ids: Collection[str]) -> Sequence[Run]:
        return [_run(row) for row in await rows(view).fetch(self._sql["runs"], list(ids))]

    async def page(self, view: View, chosen: RunFilter, before: int, limit: int) -> Sequence[Run]:
        found = await rows(view).fetch(
            self._sql["page"],
            before,
            limit,
            _some(chosen.owners),
            _some(chosen.states),
            _some(chosen.filesystems),
            _some(chosen.ids),
            _some(chosen.names),
            chosen.schedule_id or None,
            chosen.pipeline_id or None,
            chosen.seen_by and chosen.seen_by.name,
            chosen.seen_by and chosen.seen_by.since,
        )
        return [_run(row) for row in found]

    async def unfinished(self, view: View) -> Sequence[str]:
        return [row["id"] for row in await rows(view).fetch(self._sql["unfinished"])]

    async def save(self, change: Change, turns: Sequence[Turn]) -> Sequence[Run]:
        if not turns:
            return []
        # Whoever lost its connection while it committed may have read runs before the commit came through.
        with on_constraint(happenings_pkey=Conflict()):
            found = await rows(change).fetch(self._sql["save"], *_saved(turns, change.time))
        versions = {row["id"]: row["version"] for row in found}
        return [replace(turn.run, version=versions[turn.run.id], update_time=change.time) for turn in turns]

    async def nodes(self, view: View, run: str, chosen: NodeFilter, after: Place, limit: int) -> Sequence[Node]:
        states = _some(chosen.states)
        found = await rows(view).fetch(self._sql["nodes"], run, *after, limit, chosen.below, states)
        return [node_of(row["body"]) for row in found]

    async def node(self, view: View, run: str, path: str) -> Node | None:
        row = await rows(view).fetchrow(self._sql["node"], run, path)
        return None if row is None else node_of(row["body"])

    async def loops(self, view: View, run: str) -> Mapping[str, Loop]:
        found = await rows(view).fetch(self._sql["loops"], run)
        return {row["path"]: Loop(run=run, path=row["path"], items=_items(row["items"])) for row in found}

    async def running(self, view: View, run: str, places: Collection[int]) -> Sequence[Node]:
        found = await rows(view).fetch(self._sql["running"], run, list(places))
        return [node_of(row["body"]) for row in found]

    async def progress(self, view: View, run: str, components: Mapping[str, int]) -> Mapping[str, Progress]:
        over = sorted(NODE_OVER)
        found = await rows(view).fetch(self._sql["progress"], run, list(components), list(components.values()), over)
        return {
            row["path"]: Progress(kept=row["kept"], over=row["over"], gap=row["gap"], items=row["items"])
            for row in found
        }

    async def standings(self, view: View, run: str) -> Sequence[Standing]:
        return [
            Standing(**{**row, "state": NodeState(row["state"])})
            for row in await rows(view).fetch(self._sql["standings"], run)
        ]

    async def happenings(self, view: View, run: str, after: int, limit: int) -> Sequence[Happening]:
        return [_happening(run, row) for row in await rows(view).fetch(self._sql["happenings"], run, after, limit)]

    async def wish(self, change: Change, wish: Wish) -> None:
        await rows(change).execute(self._sql["wish"], wish.run, wish.wanted, wish.path, wish.by, wish.comment)

    async def wish_all(self, change: Change, wishes: Sequence[Wish]) -> None:
        told_of = ((each.run, each.wanted, each.path, each.by, each.comment) for each in wishes)
        await rows(change).execute(self._sql["wish_all"], *_columns(told_of, 5))

    async def wishes(self, view: View, after: int, limit: int) -> Sequence[Wish]:
        return [
            Wish(
                run=row["run"],
                wanted=Wanted(row["wanted"]),
                path=row["path"],
                by=row["by"],
                comment=row["comment"],
                number=row["number"],
            )
            for row in await rows(view).fetch(self._sql["wishes"], after, limit)
        ]

    async def forget_wishes(self, change: Change, numbers: Collection[int]) -> None:
        await rows(change).execute(self._sql["forget_wishes"], list(numbers))

    async def active_of(self, view: View, schedule: str) -> Sequence[str]:
        return [row["id"] for row in await rows(view).fetch(self._sql["active_of"], schedule)]

    async def active_counts(self, view: View, schedules: Collection[str]) -> Mapping[str, int]:
        found = await rows(view).fetch(self._sql["active_counts"], list(schedules))
        return {row["schedule"]: row["runs"] for row in found}

    async def expired(self, view: View, until: datetime, limit: int) -> Sequence[Run]:
        return [_run(row) for row in await rows(view).fetch(self._sql["expired"], until, limit)]

    async def owners(self, view: View) -> Sequence[Owner]:
        return [Owner(row["owner"], row["owner_since"]) for row in await rows(view).fetch(self._sql["owners"])]

    async def owned(self, view: View, owner: Owner, after: str, limit: int) -> Sequence[Run]:
        found = await rows(view).fetch(self._sql["owned"], owner.name, owner.since, after, limit)
        return [_run(row) for row in found]

    async def retries_of(self, view: View, id_: str) -> Sequence[str]:
        return [row["id"] for row in await rows(view).fetch(self._sql["retries_of"], id_)]

    async def remove(self, change: Change, ids: Collection[str]) -> None:
        await rows(change).execute(self._sql["remove"], list(ids))

    async def leave(self, change: Change, leavings: Sequence[Leaving]) -> None:
        values = [(each.run, each.owner, each.filesystem_id, each.path) for each in leavings]
        await rows(change).execute(self._sql["leave"], *_columns(values, 4))

    async def leavings(self, view: View, after: str, limit: int) -> Sequence[Leaving]:
        return [Leaving(*row.values()) for row in await rows(view).fetch(self._sql["leavings"], after, limit)]

    async def clear(self, change: Change, runs: Collection[str]) -> None:
        await rows(change).execute(self._sql["clear"], list(runs))


def _some(values: Collection[str]) -> Sequence[str] | None:
    return sorted(values) or None


def _whole(run: Run) -> Sequence[object]:
    """The values of the query `add_all`, in its order."""
    order, life = run.order, run.life
    return (
        run.id,
        run.owner,
        run.owner_since,
        order.title,
        order.filesystem,
        order.schedule_id,
        order.source.pipeline_id,
        order.document,
        told(replace(order, document="")),
        life.state,
        life.finish_time,
        told(life),
    )


def _saved(turns: Sequence[Turn], time: datetime) -> Sequence[object]:
    """The values of the query `save`, in its order."""
    runs = [(turn.run.id, turn.run.life.state, turn.run.life.finish_time, told(turn.run.life)) for turn in turns]
    nodes = [
        (node.run, node.path, node.place, node.iteration, node.state, told(node))
        for turn in turns
        for node in turn.nodes
    ]
    loops = [(loop.run, loop.path, json.dumps(loop.items)) for turn in turns for loop in turn.loops]
    happenings = [_happening_values(each) for turn in turns for each in turn.happenings]
    heard = [number for turn in turns for number in turn.heard]
    return [*_columns(runs, 4), time, *_columns(nodes, 6), *_columns(loops, 3), *_columns(happenings, 9), heard]


def _columns(values: Iterable[Sequence[object]], width: int) -> Sequence[Sequence[object]]:
    """The same, column by column."""
    return [list(column) for column in zip(*values, strict=True)] or [[]] * width


def _happening_values(each: Happening) -> Sequence[object]:
    return (
        each.run,
        each.number,
        each.path,
        each.what,
        each.message,
        each.node_state,
        each.run_state,
        each.attempt,
        each.job,
    )


def _run(row: Row) -> Run:
    order = order_of(row["body"])
    return Run(
        id=row["id"],
        owner=row["owner"],
        owner_since=row["owner_since"],
        order=replace(order, document=row["document"]),
        life=life_of(row["life"]),
        number=row["number"],
        version=row["version"],
        update_time=row["update_time"],
    )


def _items(found: Sequence[object]) -> tuple[Value, ...]:
    return tuple(value_of(item) for item in found)


def _happening(run: str, row: Row) -> Happening:
    return Happening(
        run=run,
        number=row["number"],
        time=row["time"],
        path=row["path"],
        what=row["what"],
        message=row["message"],
        node_state=None if row["node_state"] is None else NodeState(row["node_state"]),
        run_state=RunState(row["run_state"]),
        attempt=row["attempt"],
        job=row["job"],
    )
