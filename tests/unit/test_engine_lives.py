"""Runs by chance: whatever happens in whatever order, also if memory is lost again and again, they end as a few plain
rules say.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pf_pipeline.documents.model import Strategy
from pf_pipeline.engine.core.happening import Asked, JobState
from pf_pipeline.engine.core.state import Phase
from pf_pipeline.plans.domain import Plan
from pf_pipeline.runs.domain import Node, Wanted
from pf_pipeline.runs.states import NODE_OVER, NodeState, RunState
from support.plain_rules import Rules, joint
from support.run_plans import CONTENTS, PLANS, SEMAPHORES, fate
from support.run_worlds import World


def _rules(seed: int) -> Rules:
    conditions = {"no": NodeState.SKIPPED, "bad": NodeState.FAILED}
    return Rules(lambda path: NodeState(fate(seed, Node(run="", path=path, attempt=1))), conditions, CONTENTS)


def components(world: World) -> Mapping[str, NodeState]:
    """How the components at the top have ended, all iterations together."""
    frame = world.state.frame
    assert frame is not None
    return {member.path: member.state for member in frame.members.values()}


def lose(world: World, chance: float) -> None:
    """Loses, now and then, what is in memory of a run that is not over."""
    if not world.over and world.chance.random() < chance:
        world.crash()


def is_well(world: World) -> None:
    """What holds at any time."""
    assert len(world.launched) == len(set(world.launched))
    assert world.most <= world.plan.parallelism
    steps = world.run.life.steps
    assert min(steps.waiting, steps.running, steps.cancelled, steps.succeeded) >= 0
    held = world.state.semaphores.held
    assert all(0 <= held["ada", name] <= most for name, most in SEMAPHORES.items())


@settings(max_examples=300)
@given(PLANS, st.integers(0, 2**32), st.floats(0, 0.5))
def test_runs_end_as_the_rules_say_whatever_is_lost(plan: Plan, seed: int, crashes: float) -> None:
    chance, pieces = random.Random(seed), seed % 2 == 1
    world = World(plan, lambda node: fate(seed, node), CONTENTS, chance=chance, pieces=pieces, losses=crashes / 4)
    world.begin()
    for _ in range(10_000):
        if world.over:
            break
        world.step()
        lose(world, crashes)
        is_well(world)
    wanted = _rules(seed).expected(plan.entry_points)
    good = joint(wanted.values()) in (NodeState.SUCCEEDED, NodeState.SKIPPED)
    post = "post_process/post"
    if plan.post_process is not None:
        good = good and fate(seed, Node(run="", path=post, attempt=1)) is JobState.SUCCEEDED
    assert world.run.life.state is (RunState.SUCCEEDED if good else RunState.FAILED)
    assert (post in world.states) == (plan.post_process is not None)
    assert set(world.states.values()) <= NODE_OVER
    assert (world.run.life.steps.waiting, world.run.life.steps.running) == (0, 0)


@settings(max_examples=200)
@given(PLANS, st.integers(0, 2**32), st.floats(0, 0.5))
def test_whoever_continues_ends_each_component_as_the_rules_say(plan: Plan, seed: int, crashes: float) -> None:
    chance, pieces = random.Random(seed), seed % 2 == 1
    world = World(_continuing(plan), lambda node: fate(seed, node), CONTENTS, chance=chance, pieces=pieces, losses=0.1)
    world.begin()
    ends: Mapping[str, NodeState] = {}
    while world.state.phase is Phase.MAIN:
        ends = components(world)
        world.step()
        lose(world, crashes)
    wanted = _rules(seed).expected(plan.entry_points)
    known = {path: end for path, end in ends.items() if end is not NodeState.PENDING}
    assert known.items() <= wanted.items()
    for path, end in wanted.items():
        if end is not NodeState.SUCCEEDED:
            assert any(state is end for at, state in world.states.items() if at == path or at.startswith(f"{path}["))


def _continuing(plan: Plan) -> Plan:
    return replace(plan, strategy=Strategy.CONTINUE, post_process=None)


@settings(max_examples=200)
@given(PLANS, st.integers(0, 2**32), st.integers(0, 30), st.booleans())
def test_a_stop_ends_every_run(plan: Plan, seed: int, after: int, force: bool) -> None:
    chance, pieces = random.Random(seed), seed % 2 == 1
    world = World(plan, lambda node: fate(seed, node), CONTENTS, chance=chance, pieces=pieces, losses=0.1)
    world.begin()
    for _ in range(after):
        if not world.over:
            world.step()
    world.tell(Asked(Wanted.FORCE if force else Wanted.STOP, by="ada"))
    lose(world, seed % 2)
    world.finish()
    assert set(world.states.values()) <= NODE_OVER
    assert (world.run.life.steps.waiting, world.run.life.steps.running) == (0, 0)
