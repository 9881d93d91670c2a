"""What the cache is asked about a step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pf_pipeline.artifacts.domain import FOR_EVER, NodeKey, Shelf
from pf_pipeline.artifacts.judging import Question
from pf_pipeline.artifacts.keys import StepParts
from pf_pipeline.artifacts.ports import Ask
from pf_pipeline.artifacts.reading import Spot
from pf_pipeline.documents.model import CacheMode, CacheShare, Mount
from pf_pipeline.engine.core.happening import Judge, ReadResults
from pf_pipeline.engine.core.words import Turn
from pf_pipeline.engine.speaking import words_of
from pf_pipeline.plans.domain import Plan, PlannedStep
from pf_pipeline.plans.paths import SEPARATOR, component
from pf_pipeline.runs.domain import Node, Order, Run

EVERYTHING = "*"
"""The shelf of all runs of an owner; and, of what is to be done afresh, all nodes."""
AFRESH = "the run is to do it afresh"
"""What is said of a node whose result is kept, but not looked for."""


def question_of(run: Run, plan: Plan, wanted: Judge | ReadResults) -> Question:
    """What is asked about a step."""
    node, planned = wanted.node, wanted.planned
    cache = planned.cache
    return Question(
        by=NodeKey(run.id, node.path),
        component=component(node.path),
        shelf=shelf_of(run, plan, planned),
        parts=_parts(run, plan, wanted),
        user=run.owner,
        mode=cache.mode or CacheMode.CONTENT,
        inputs={name: tuple(paths.split(SEPARATOR)) if paths else () for name, paths in node.work.inputs.items()},
        scope=dict(_scope(run, planned)),
        fresh=is_fresh(run.order, node),
        max_expired_time=FOR_EVER if cache.max_expired_time is None else cache.max_expired_time,
    )


def is_fresh(order: Order, node: Node) -> bool:
    """True of a node that is to be done, whatever the cache has."""
    return not {EVERYTHING, node.path, node.name}.isdisjoint(order.fresh)


def shelf_of(run: Run, plan: Plan, planned: PlannedStep) -> Shelf:
    """Where results of a step are looked for."""
    return Shelf(run.owner, run.order.filesystem_id, _origin(run, plan, planned), run.owner_since)


def _origin(run: Run, plan: Plan, planned: PlannedStep) -> str:
    match planned.cache.share:
        case CacheShare.OWNER:
            return EVERYTHING
        case CacheShare.PIPELINE:
            return f"name:{plan.name}"
    return run.order.origin


def _parts(run: Run, plan: Plan, wanted: Judge | ReadResults) -> StepParts:
    node, planned = wanted.node, wanted.planned
    work, cache = node.work, planned.cache
    turn = Turn(wanted.runtime_name, node.iteration, work.loop_argument)
    words = words_of(run, plan)
    main = [plan.main_fs] if plan.main_fs else []
    return StepParts(
        command=words.cached_command(planned, turn, work),
        image=work.docker_env,
        parameters=work.parameters,
        env=work.env,
        loop_argument=work.loop_argument,
        inputs=tuple(work.inputs),
        outputs=tuple(planned.outputs),
        results=planned.results,
        mounts=tuple(_by_id(mount, run.order.mounts) for mount in (*main, *planned.extra_fs)),
        job=words.cached_job(planned, turn, work),  # type: ignore[arg-type]  # it was read from JSON
        version=cache.version or "",
        ignore=cache.ignore,
    )


def _by_id(mount: Mount, ids: Mapping[str, str]) -> Mount:
    return Mount(ids.get(mount.name, mount.name), mount.mount_path, mount.sub_path, mount.read_only)


def _scope(run: Run, planned: PlannedStep) -> Iterator[tuple[str, Spot]]:
    for scope in planned.cache.fs_scope:
        name = scope.name or run.order.filesystem
        ask = Ask(run.owner, run.order.mounts.get(name, run.order.filesystem_id), run.owner_since)
        for path in filter(None, (each.strip() for each in scope.path.split(","))):
            # Paths begin in the filesystem, also if they are written as absolute ones.
            yield f"{name}:{path}", Spot(ask, path.strip("/"))


def uses_cache(node: Node, planned: PlannedStep) -> bool:
    """True of a step whose result is to be kept."""
    return bool(planned.cache.enable) and bool(node.cache.key) and not node.cache.run
