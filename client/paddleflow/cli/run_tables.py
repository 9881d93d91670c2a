"""Runs, their artifacts and what happens in them, as tables with the headings of the original."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from paddleflow.cli.table import Cell, Table
from paddleflow.models.artifacts import ArtifactEvent, CachedResult
from paddleflow.models.nodes import RunNode, RunPlan
from paddleflow.models.runs import Run, RunHappening
from paddleflow.original import original_time
from paddleflow.original_runs import post_process, runtime, settings_of

RUNS = [
    "run id",
    "fs name",
    "username",
    "status",
    "name",
    "description",
    "run msg",
    "source",
    "schedule id",
    "scheduled time",
    "create time",
    "activate time",
    "update time",
]
ARTIFACTS = [
    "run id",
    "fsname",
    "username",
    "artifact path",
    "type",
    "step",
    "artifact name",
    "meta",
    "create time",
    "update time",
]
CACHED = ["cache id", "run id", "job id", "fsname", "username", "expired time", "create time", "update time"]
HAPPENINGS = ["number", "time", "run status", "node", "node status", "event", "attempt", "job id", "message"]
PLANNED = ["node", "type", "depends on", "cache", "why", "condition", "command", "parameters", "env"]


def run_table(runs: Iterable[Run]) -> Table:
    return Table(RUNS, [_run(run) for run in runs])


def summary(run: Run) -> Table:
    """The first thing that `run show` tells."""
    fields: dict[str, Cell] = {
        "run id": run.id,
        "status": str(run.state),
        "name": run.name,
        "desc": run.description,
        "param": _json(run.parameters),
        "source": run.origin,
        "run msg": run.message,
        "create time": original_time(run.create_time),
        "update time": original_time(run.update_time),
        "activate time": original_time(run.start_time),
    }
    return _row(fields)


def settings(run: Run) -> Table:
    """The second thing."""
    told = settings_of(run)
    fields: dict[str, Cell] = {
        "fs name": run.filesystem,
        "username": run.owner,
        "docker env": told.docker_env,
        "schedule id": run.schedule_id,
        "fs options(json)": told.fs_options,
        "failure options(json)": told.failure_options,
        "disabled": ",".join(run.disabled),
        "run cached ids": ",".join(run.used_by),
    }
    return _row(fields)


def whole(run: Run, nodes: Sequence[RunNode]) -> Iterator[Table]:
    """All that `run show` tells to programs. Views of nodes are JSON as text."""
    yield summary(run)
    yield settings(run)
    yield Table(["run yaml detail"], [[run.document]])
    yield Table(["runtime in json"], [[_text(runtime(run.id, nodes))]])
    yield Table(["postProcess in json"], [[_text(post_process(run.id, nodes))]])


def flat(table: Table) -> Table:
    """The same with JSON in one line where a cell is nested: people need it seldom."""
    return Table(table.headings, [[_line(cell) for cell in row] for row in table.rows])


def artifact_table(events: Iterable[ArtifactEvent]) -> Table:
    return Table(ARTIFACTS, [_artifact(event) for event in events])


def cached_table(results: Iterable[CachedResult]) -> Table:
    return Table(CACHED, [_cached(result) for result in results])


def cached_details(result: CachedResult) -> Iterator[Table]:
    """What `run showcache` tells: the original's two tables."""
    *facts, create, update = _cached(result)
    *headings, created, updated = CACHED
    more = ["strategy", "custom", "node", "source", "used by", created, updated]
    source, used_by = result.origin, ",".join(result.used_by)
    yield Table([*headings, *more], [[*facts, "conservative", "", result.node, source, used_by, create, update]])
    yield Table(["first fp", "second fp"], [[result.key, ""]])


def happening_table(happenings: Iterable[RunHappening]) -> Table:
    return Table(HAPPENINGS, [_happening(each) for each in happenings])


def plan_table(plan: RunPlan) -> Table:
    rows: list[list[Cell]] = [
        [
            each.node.path,
            str(each.node.kind),
            ",".join(each.node.deps),
            str(each.prediction),
            each.message or each.node.message,
            each.node.condition,
            each.node.command,
            _json(each.node.parameters),
            dict(each.node.env),
        ]
        for each in plan.nodes
    ]
    return Table(PLANNED, rows)


def _run(run: Run) -> list[Cell]:
    return [
        run.id,
        run.filesystem,
        run.owner,
        str(run.state),
        run.name,
        run.description,
        run.message,
        run.origin,
        run.schedule_id,
        original_time(run.scheduled_time),
        original_time(run.create_time),
        original_time(run.start_time),
        original_time(run.update_time),
    ]


def _artifact(event: ArtifactEvent) -> list[Cell]:
    return [
        event.run_id,
        event.filesystem,
        event.owner,
        event.artifact_path,
        str(event.use),
        event.step,
        event.artifact,
        event.meta,
        original_time(event.create_time),
        original_time(event.update_time),
    ]


def _cached(result: CachedResult) -> list[Cell]:
    return [
        result.id,
        result.run_id,
        result.job_id,
        result.filesystem,
        result.owner,
        str(result.max_expired_time),
        original_time(result.create_time),
        original_time(result.update_time),
    ]


def _happening(happening: RunHappening) -> list[Cell]:
    return [
        happening.number,
        original_time(happening.time),
        str(happening.run_state),
        happening.path,
        str(happening.node_state),
        happening.what,
        happening.attempt,
        happening.job_id,
        happening.message,
    ]


def _row(fields: dict[str, Cell]) -> Table:
    return Table(list(fields), [list(fields.values())])


def _line(cell: Cell) -> Cell:
    return cell if isinstance(cell, str | int | float | None) else json.dumps(cell, ensure_ascii=False)


def _json(values: object) -> Cell:
    """Values as JSON has them, whatever they are."""
    told: Cell = json.loads(json.dumps(values))
    return told


def _text(told: object) -> str:
    return json.dumps(told, indent=2, ensure_ascii=False)
