"""Lists of nodes, begun or not."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paddleflow.problems import NodeNotFound
from pf_pipeline.documents.model import HandlerWhen
from pf_pipeline.engine.core.happening import Asked, JobState
from pf_pipeline.engine.core.state import Frame, Member, Phase, State
from pf_pipeline.plans.domain import Kind, Plan, PlannedDag, PlannedStep
from pf_pipeline.runs.domain import Node, NodeFilter, Waiting, Wanted
from pf_pipeline.runs.states import NODE_GOOD, NODE_OVER, NodeState, RunState, Stop
from pf_pipeline.runs.store import BEGINNING
from pf_pipeline.views.listing import place_of
from support.run_plans import CONTENTS, PLANS, fate
from support.run_worlds import World
from support.stored_runs import ADA, Kept

RUN = "run-000001"
UNDER_WAY = (NodeState.PENDING, NodeState.RUNNING, NodeState.TERMINATING)
PENDING = NodeFilter(states=frozenset({NodeState.PENDING}))


def step(name: str, *deps: str, **more: object) -> PlannedStep:
    return PlannedStep(name=name, deps=deps, command="x", **more)  # type: ignore[arg-type]


def plan(*planned: PlannedStep | PlannedDag, **more: object) -> Plan:
    return Plan(name="p", entry_points={each.name: each for each in planned}, **more)  # type: ignore[arg-type]


async def listed(kept: Kept, chosen: NodeFilter | None = None, size: int = 1000) -> Sequence[Node]:
    """All pages of a list."""
    found: list[Node] = []
    after = BEGINNING
    view = kept.database.newest
    while page := await kept.listing.page(view, ADA, RUN, chosen or NodeFilter(), after, size):
        assert len(page) <= size
        found += [each.node for each in page]
        after = place_of(found[-1])
    return found


async def told(kept: Kept, chosen: NodeFilter | None = None) -> Mapping[str, tuple[Waiting, tuple[str, ...]]]:
    await kept.keep()
    return {node.path: (node.waiting, node.waiting_on) for node in await listed(kept, chosen)}


async def test_what_has_not_begun_tells_what_it_waits_for() -> None:
    world = World(plan(step("a"), step("b"), step("c", "a"), step("d", "c", "a"), parallelism=1)).begin()
    nodes = await told(Kept(world))
    assert nodes["b"] == (Waiting.PARALLELISM, ())
    assert nodes["c"] == (Waiting.DEPENDENCIES, ("a",))
    assert nodes["d"] == (Waiting.DEPENDENCIES, ("c", "a"))


async def test_a_run_that_nobody_drives_yet_waits_for_the_engine() -> None:
    world = World(plan(step("a"), step("b", "a")))
    assert await told(Kept(world)) == {"a": (Waiting.ENGINE, ()), "b": (Waiting.DEPENDENCIES, ("a",))}


async def test_iterations_that_have_not_begun_are_told_as_one() -> None:
    world = World(plan(step("a", loop=tuple(range(100_000))), step("b", "a"), parallelism=3)).begin()
    kept = Kept(world)
    await kept.keep()
    nodes = {node.path: node for node in await listed(kept)}
    assert list(nodes) == ["a", "a[1]", "a[2]", "a[3]", "b"]
    assert nodes["a[3]"].message == "99997 iterations have not begun"
    assert (nodes["a[3]"].waiting, nodes["a[3]"].iterations) == (Waiting.PARALLELISM, 100_000)
    run = world.run
    view = kept.database.newest
    assert (await kept.listing.node(view, run, "a[99999]")).iteration == 99_999
    for path in ("a[100000]", "a[0]", "a[01]", "a[x]", "nobody", "a.b", "a\0"):
        with pytest.raises(NodeNotFound):
            await kept.listing.node(view, run, path)


async def test_iterations_that_a_retry_left_out_are_told_where_the_first_is_missing() -> None:
    world = World(plan(step("a", loop=(1, 2, 3, 4)))).begin().finish()
    for path in ("a[1]", "a[3]"):
        del world.nodes[path]
    life = replace(world.run.life, state=RunState.PENDING)
    world.state.run = replace(world.run, life=life)
    kept = Kept(world)
    assert list(await told(kept)) == ["a", "a[1]", "a[2]"]
    assert (await listed(kept))[1].message == "2 iterations have not begun"


async def test_filters_are_about_what_has_not_begun_too() -> None:
    inner = PlannedDag(name="d", children={"s": step("s", loop=(1, 2, 3), max_parallel=1), "t": step("t", "s")})
    world = World(plan(inner, step("e", "d"))).begin()
    kept = Kept(world)
    assert list(await told(kept, NodeFilter(below="d"))) == ["d", "d.s", "d.s[1]", "d.t"]
    assert list(await told(kept, NodeFilter(below="d.s"))) == ["d.s", "d.s[1]"]
    assert list(await told(kept, NodeFilter(below="d.s[1]"))) == ["d.s[1]"]
    assert list(await told(kept, NodeFilter(states=frozenset({NodeState.RUNNING})))) == ["d"]
    assert list(await told(kept, replace(PENDING, below="e"))) == ["e"]


async def test_exit_handlers_that_wait_for_others_are_told_if_they_are_wanted() -> None:
    handlers = [
        step(when.value, kind=Kind.EXIT_HANDLER, when=when)
        for when in (HandlerWhen.ALWAYS, HandlerWhen.FAILED, HandlerWhen.SUCCEEDED)
    ]
    world = World(plan(step("a"), on_exit=tuple(handlers), parallelism=1)).begin()
    kept = Kept(world)
    nodes = await told(kept)
    assert list(nodes) == ["a", "on_exit/always", "on_exit/failed", "on_exit/succeeded"]
    assert nodes["on_exit/always"] == (Waiting.PHASE, ())
    assert (await kept.listing.node(kept.database.newest, world.run, "on_exit/failed")).message == (
        "runs only if the run fails or is stopped"
    )
    world.step()
    assert list(await told(kept)) == ["a", "on_exit/always", "on_exit/succeeded"]
    world.tell(Asked(Wanted.FORCE, by="ada"))
    assert all(node.state is not NodeState.PENDING or node.job for node in world.nodes.values())
    assert list(await told(kept)) == list(world.nodes)


async def test_what_runs_at_the_end_is_told_from_the_beginning() -> None:
    handler = step("mail", kind=Kind.EXIT_HANDLER)
    failed = step("mend", kind=Kind.EXIT_HANDLER, when=HandlerWhen.FAILED)
    good = step("praise", kind=Kind.EXIT_HANDLER, when=HandlerWhen.SUCCEEDED)
    post = step("tidy", kind=Kind.POST_PROCESS)
    fails = World(plan(step("a"), step("b"), post_process=post, on_exit=(handler, failed, good)), _fails)
    kept = Kept(fails.begin())
    last = {"post_process/tidy", "on_exit/mail", "on_exit/mend", "on_exit/praise"}
    nodes = await told(kept)
    assert set(nodes) == {"a", "b"} | last
    assert {nodes[path] for path in last} == {(Waiting.PHASE, ())}
    while fails.states["a"] is not NodeState.FAILED:
        fails.step()
    nodes = await told(kept)
    assert "on_exit/praise" not in nodes
    assert nodes["on_exit/mend"] == (Waiting.PHASE, ())
    fails.tell(Asked(Wanted.FORCE, by="ada"))
    assert not {path for path, waits in (await told(kept)).items() if waits[0] is Waiting.PHASE}


def _fails(_node: Node) -> JobState:
    return JobState.FAILED


def _with_handlers(plan_: Plan, whens: Sequence[HandlerWhen]) -> Plan:
    handlers = [step(when.value, kind=Kind.EXIT_HANDLER, when=when) for when in whens]
    return replace(plan_, on_exit=tuple(handlers))


@settings(max_examples=40, deadline=None)
@given(
    st.builds(_with_handlers, PLANS, st.permutations(tuple(HandlerWhen))),
    st.integers(0, 2**32),
    st.floats(0, 0.3),
    st.integers(3, 20),
    st.integers(0, 60),
)
def test_each_component_of_what_a_run_has_come_to_is_told_once(
    plan_: Plan, seed: int, crashes: float, size: int, stop: int
) -> None:
    world = World(plan_, lambda node: fate(seed, node), CONTENTS, chance=random.Random(seed))
    asyncio.run(_live(Kept(world), crashes, size, stop))


async def _live(kept: Kept, crashes: float, size: int, stop: int) -> None:
    world = kept.world
    await kept.keep()
    later = [f"on_exit/{each.name}" for each in world.plan.on_exit]
    later += [f"post_process/{world.plan.post_process.name}"] if world.plan.post_process else []
    assert {node.path for node in await listed(kept)} == {*world.plan.entry_points, *later}
    world.begin()
    for at in range(500):
        if world.over or world.chance.random() < 0.3:
            await kept.keep()
            await _is_told(kept, size)
        if world.over:
            return
        if at == stop:
            world.tell(Asked(Wanted.STOP, by="ada"))
        elif world.chance.random() < crashes:
            world.crash()
        else:
            world.step()


async def _is_told(kept: Kept, size: int) -> None:
    world = kept.world
    nodes = await listed(kept)
    assert await listed(kept, size=size) == nodes
    assert await listed(kept, PENDING, size) == [node for node in nodes if node.state is NodeState.PENDING]
    paths = [node.path for node in nodes]
    assert len(paths) == len(set(paths))
    assert [node for node in nodes if node.path in world.nodes] == sorted(world.nodes.values(), key=place_of)
    unbegun = [node for node in nodes if node.path not in world.nodes and node.waiting is not Waiting.PHASE]
    _are_yet_to_come(world, [node for node in nodes if node.waiting is Waiting.PHASE])
    ends = world.over or world.state.halting
    wanted = [] if ends else [member for member in _members(world.state) if _has_more(world, member)]
    assert sorted(_component(node) for node in unbegun) == sorted(member.path for member in wanted)
    by_path = {member.path: member for member in wanted}
    for node in unbegun:
        member = by_path[_component(node)]
        waits = tuple(dep for dep in node.deps if member.frame.members[dep].state is NodeState.PENDING)
        assert (node.waiting_on, node.place) == (waits, member.place)
    assert all(node.waiting is not Waiting.NOTHING for node in nodes if node.state is NodeState.PENDING)


def _are_yet_to_come(world: World, nodes: Sequence[Node]) -> None:
    """All that may run at the end is told until its phase begins, and nothing else."""
    wanted: set[str] = set()
    if not world.over and world.run.life.stop is not Stop.FORCE:
        plan_, phase = world.plan, world.state.phase
        post = phase is Phase.MAIN and plan_.post_process
        wanted |= {f"post_process/{post.name}"} if post else set()
        bad = any(node.state not in (*NODE_GOOD, *UNDER_WAY) for node in world.nodes.values())
        exits = plan_.on_exit if phase is not Phase.EXIT else ()
        wanted |= {f"on_exit/{each.name}" for each in exits if not (bad and each.when is HandlerWhen.SUCCEEDED)}
    assert {node.path for node in nodes} == wanted


def _component(node: Node) -> str:
    return node.path.removesuffix(f"[{node.iteration}]") if node.iteration else node.path


def _members(state: State) -> Iterator[Member]:
    """All components of what is open."""
    assert state.frame is not None
    frames: list[Frame] = [state.frame]
    while frames:
        frame = frames.pop()
        yield from frame.members.values()
        frames += [live.frame for each in frame.members.values() for live in each.lives.values() if live.frame]


def _has_more(world: World, member: Member) -> bool:
    """True if something of a component is to begin of which nothing is kept."""
    kept = sum(_component(node) == member.path for node in world.nodes.values())
    return member.state not in NODE_OVER and kept < max(1, member.total)
