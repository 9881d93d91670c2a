"""Runs as pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from paddleflow.problems import FailedPrecondition
from pf_pipeline.documents.model import HandlerWhen
from pf_pipeline.drawings.graph import Box, Picture
from pf_pipeline.engine.core.happening import JobSeen, JobState
from pf_pipeline.pipelines.convert import sendable_drawing
from pf_pipeline.pipelines.ports import Form
from pf_pipeline.pipelines.sources import LONGEST
from pf_pipeline.plans.domain import Kind, Plan, Planned, PlannedDag, PlannedStep
from pf_pipeline.runs.domain import CacheTrace
from pf_pipeline.views.pictures import picture_of
from support.run_worlds import World
from support.stored_runs import Kept


def step(name: str, *deps: str, **more: Any) -> PlannedStep:
    return PlannedStep(name=name, deps=deps, command="x", **more)


def plan(*components: Planned, **more: Any) -> Plan:
    return Plan(name="p", entry_points={each.name: each for each in components}, **more)


async def drawn(world: World, later: timedelta = timedelta()) -> Picture:
    kept = Kept(world)
    await kept.keep()
    standings = await kept.store.standings(kept.database.newest, world.run.id)
    return picture_of(world.run, world.plan, standings, world.now + later)


def states(boxes: tuple[Box, ...]) -> Mapping[str, str]:
    return {box.name: box.state for box in boxes}


async def test_a_picture_shows_where_components_stand() -> None:
    inner = PlannedDag(name="d", deps=("many",), children={"s": step("s")})
    world = World(plan(step("many", loop=(1, 2, 3), max_parallel=2), inner, step("off", disabled=True))).begin()
    world.tell(JobSeen("many", 1, JobState.SUCCEEDED))
    world.tell(JobSeen("many[1]", 1, JobState.RUNNING))
    picture = await drawn(world, timedelta(minutes=2))
    assert (picture.title, picture.state) == ("p", "running")
    assert states(picture.boxes) == {"many": "running", "d": "pending", "off": "skipped"}
    many, dag, off = picture.boxes
    assert many.marks == ("for each of 3", "1 running, 1 pending, 1 succeeded")
    assert (many.seconds, off.seconds) == (120, None)
    assert (dag.after, states(dag.parts), off.marks) == (("many",), {"s": "pending"}, ("disabled",))


async def test_what_never_begins_has_no_state_once_that_is_known() -> None:
    inner = PlannedDag(name="d", condition="no", children={"s": step("s")})
    handler = step("late", kind=Kind.EXIT_HANDLER, when=HandlerWhen.FAILED)
    world = World(plan(inner, step("a"), on_exit=(handler,))).begin()
    picture = await drawn(world)
    assert states(picture.boxes[0].parts) == {"s": ""}
    assert states(picture.lasts) == {"late": "pending"}
    world.finish()
    assert states((await drawn(world)).lasts) == {"late": ""}


async def test_what_came_from_the_cache_is_marked() -> None:
    world = World(plan(step("a"), step("b", loop=(1, 2)))).begin().finish()
    for path in ("a", "b[1]"):
        world.nodes[path] = replace(world.nodes[path], cache=CacheTrace(run="run-0"))
    one, loop = (await drawn(world)).boxes
    assert one.marks == ("from the cache",)
    assert loop.marks[1:] == ("2 succeeded", "1 from the cache")


def test_what_no_message_holds_is_refused_with_a_hint() -> None:
    assert sendable_drawing("x" * LONGEST, Form.SVG) == "x" * LONGEST
    with pytest.raises(FailedPrecondition, match="try Mermaid, which is shorter"):
        sendable_drawing("x" * (LONGEST + 1), Form.SVG)
    with pytest.raises(FailedPrecondition, match="leave out a part"):
        sendable_drawing("\u00e9" * LONGEST, Form.MERMAID)
