"""Runs that are thought through end as they do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from hypothesis import assume, given, settings

from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_pipeline.artifacts.judging import Judging
from pf_pipeline.artifacts.memory import MemoryArtifactStore
from pf_pipeline.artifacts.reading import Reading
from pf_pipeline.owners import Owner
from pf_pipeline.plans.domain import Plan, Planned, PlannedDag
from pf_pipeline.runs.domain import Order
from pf_pipeline.runs.states import NodeState, RunState
from pf_pipeline.views.foretelling import Foretelling
from pf_pipeline.views.rehearsing import Rehearsal, Rehearsing
from support.fake_files import FakeFiles
from support.run_plans import PLANS
from support.run_worlds import BEGIN, World
from support.stored_runs import PlainLanguage, no_facts


def thought(plan: Plan) -> Rehearsal:
    database, clock = MemoryDatabase(encode=no_facts, clock=SystemClock()), SystemClock()
    judging = Judging(database=database, store=MemoryArtifactStore(), reading=Reading(files=FakeFiles()), clock=clock)
    rehearsing = Rehearsing(PlainLanguage(plan), Foretelling(judging))
    return asyncio.run(rehearsing.rehearsed(Owner("ada"), Order(name=plan.name), plan, BEGIN))


def all_of(planned: Mapping[str, Planned]) -> Iterator[Planned]:
    for each in planned.values():
        yield each
        if isinstance(each, PlannedDag):
            yield from all_of(each.children)


def is_known(plan: Plan) -> bool:
    """True if nothing hangs on files."""
    return all(each.condition != "file" and each.loop != "items" for each in all_of(plan.entry_points))


@settings(max_examples=60, deadline=None)
@given(PLANS)
def test_a_run_of_which_all_is_known_ends_as_it_was_thought(plan: Plan) -> None:
    assume(is_known(plan))
    world = World(plan).begin().finish()
    rehearsal = thought(plan)
    assert rehearsal.state.run.life.state is world.run.life.state
    if world.run.life.state is RunState.SUCCEEDED:
        assert {path: node.state for path, node in rehearsal.nodes.items()} == world.states


@settings(max_examples=60, deadline=None)
@given(PLANS)
def test_whatever_hangs_on_files_is_thought_to_its_end(plan: Plan) -> None:
    rehearsal = thought(plan)
    assert rehearsal.lengths.keys() <= rehearsal.nodes.keys()
    if rehearsal.state.run.life.state is RunState.SUCCEEDED:
        assert {node.state for node in rehearsal.nodes.values()} <= {NodeState.SUCCEEDED, NodeState.SKIPPED}
