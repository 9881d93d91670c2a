"""What becomes of runs, decided without any files, jobs or databases."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from pf_pipeline.documents.model import Approval, Cache, HandlerWhen, Result, ResultKind, Retry, Strategy, Value
from pf_pipeline.engine.core.happening import Asked, JobSeen, JobState, Judged, Launch, Passed, Verdict
from pf_pipeline.engine.core.scoping import sibling
from pf_pipeline.engine.core.state import Phase, Semaphores
from pf_pipeline.plans.domain import Kind, Plan, Planned, PlannedDag, PlannedStep
from pf_pipeline.runs.domain import CacheTrace, Node, Waiting, Wanted
from pf_pipeline.runs.states import NodeState, RunState
from support.run_worlds import World

S, F, C, K, T = (
    NodeState.SUCCEEDED,
    NodeState.FAILED,
    NodeState.CANCELLED,
    NodeState.SKIPPED,
    NodeState.TERMINATED,
)


def step(name: str, *deps: str, **more: Any) -> PlannedStep:
    return PlannedStep(name=name, deps=deps, command="x", **more)


def dag(name: str, *children: Planned, deps: tuple[str, ...] = (), **more: Any) -> PlannedDag:
    return PlannedDag(name=name, deps=deps, children={each.name: each for each in children}, **more)


def plan(*components: Planned, **more: Any) -> Plan:
    return Plan(name="p", entry_points={each.name: each for each in components}, **more)


def fails(*paths: str) -> Callable[[Node], JobState]:
    return lambda node: JobState.FAILED if node.path in paths else JobState.SUCCEEDED


def ended(world: World) -> tuple[RunState, Mapping[str, NodeState]]:
    world.begin().finish()
    return world.run.life.state, world.states


def test_a_chain_runs_in_its_order() -> None:
    world = World(plan(step("c", "b"), step("b", "a"), step("a")))
    assert ended(world) == (RunState.SUCCEEDED, {"a": S, "b": S, "c": S})
    assert [path for path, _ in world.launched] == ["a", "b", "c"]


def test_more_steps_than_are_told_to_end_in_one_piece_end_all_the_same() -> None:
    together = plan(*(step(f"s{number}") for number in range(20)), parallelism=20)
    world = World(together, pieces=True).begin()
    world.tell(Asked(Wanted.STOP))
    assert world.finish().run.life.state is RunState.TERMINATED


def test_whoever_fails_fast_takes_the_others_along() -> None:
    world = World(plan(step("a"), step("b", "a"), step("z")), fails("a"), chance=random.Random(3))
    state, states = ended(world)
    assert (state, states["a"], states["b"]) == (RunState.FAILED, F, C)
    assert world.run.life.message == "a failed"


def test_whoever_continues_cancels_only_what_depends_on_it() -> None:
    world = World(plan(step("a"), step("b", "a"), step("c", "b"), step("z"), strategy=Strategy.CONTINUE), fails("a"))
    assert ended(world) == (RunState.FAILED, {"a": F, "b": C, "c": C, "z": S})


def test_a_condition_that_does_not_hold_skips_and_others_go_on() -> None:
    world = World(
        plan(step("a", condition="no"), step("b", "a", condition="yes"), step("c", condition="file")), contents="yes"
    )
    assert ended(world) == (RunState.SUCCEEDED, {"a": K, "b": S, "c": S})


def test_a_condition_without_sense_fails() -> None:
    assert ended(World(plan(step("a", condition="bad")))) == (RunState.FAILED, {"a": F})


def test_a_loop_runs_each_of_its_iterations_as_many_at_once_as_may() -> None:
    world = World(plan(step("a", loop=tuple(range(50)), outputs=("o",)), step("b", "a"), parallelism=7))
    state, states = ended(world)
    assert (state, len(states), set(states.values()), world.most) == (RunState.SUCCEEDED, 51, {S}, 7)
    assert world.launched[-1] == ("b", 1)


@pytest.mark.parametrize(
    ("items", "default", "wanted"), [((5, 6, 7), None, (5, 7)), ((5, 6, 7), 0, (5, 0, 7)), ((5,), 0, (5,)), ((), 0, ())]
)
def test_results_of_a_loop_are_a_list_in_its_order(items: tuple[int, ...], default: int | None, wanted: object) -> None:
    made = step("a", loop=items, results={"r": Result(ResultKind.INT, default)})
    world = World(plan(made, step("b", "a", approval=Approval())), results=half)
    world.begin()
    while "b" not in world.nodes:
        world.step()
    for _ in range(2):
        assert world.state.frame is not None
        assert sibling(world.state.frame.members["a"]).results == {"r": wanted}
        world.crash()


def half(node: Node) -> Mapping[str, Value]:
    """What every other iteration writes."""
    return {} if node.iteration == 1 else {"r": int(str(node.work.loop_argument))}


def test_a_loop_over_nothing_succeeds() -> None:
    assert ended(World(plan(step("a", loop=()), step("b", "a")))) == (RunState.SUCCEEDED, {"a": S, "b": S})


def test_a_loop_over_a_file_waits_for_it() -> None:
    world = World(plan(step("a", loop="items"), step("b", "a")), contents="x y z")
    assert ended(world)[1] == {"a": S, "a[1]": S, "a[2]": S, "b": S}


def test_dags_are_repeated_as_a_whole() -> None:
    inner = dag("d", step("s", loop=(1, 2)), step("t", "s"), loop=(1, 2))
    world = World(plan(inner, step("e", "d")))
    state, states = ended(world)
    assert state is RunState.SUCCEEDED
    assert set(states) == {
        *("d", "d[1]", "d.s", "d.s[1]", "d[1].s", "d[1].s[1]", "d.t", "d[1].t", "e"),
    }


def test_the_failure_of_a_child_is_that_of_its_dag() -> None:
    world = World(plan(dag("d", step("s"), step("t", "s")), step("e", "d"), strategy=Strategy.CONTINUE), fails("d.s"))
    assert ended(world) == (RunState.FAILED, {"d": F, "d.s": F, "d.t": C, "e": C})


def test_what_runs_at_the_end_does_so_however_it_ends() -> None:
    post = step("mail", kind=Kind.POST_PROCESS)
    exits = tuple(step(when.value, kind=Kind.EXIT_HANDLER, when=when) for when in HandlerWhen)
    world = World(plan(step("a"), post_process=post, on_exit=exits), fails("a"))
    assert ended(world) == (
        RunState.FAILED,
        {"a": F, "post_process/mail": S, "on_exit/always": S, "on_exit/failed": S},
    )


def test_a_step_is_tried_again_as_often_as_it_may() -> None:
    tries = {"a": 0}

    def outcome(node: Node) -> JobState:
        tries["a"] += 1
        return JobState.SUCCEEDED if tries["a"] == 3 else JobState.FAILED

    world = World(plan(step("a", retry=Retry(limit=2, backoff=timedelta(minutes=1)))), outcome)
    assert ended(world)[0] is RunState.SUCCEEDED
    assert world.launched == [("a", 1), ("a", 2), ("a", 3)]


@pytest.mark.parametrize(("force", "post"), [(False, S), (True, C)])
def test_a_stop_ends_what_runs(force: bool, post: NodeState) -> None:
    world = World(plan(step("a"), step("b", "a"), post_process=step("mail", kind=Kind.POST_PROCESS))).begin()
    world.todo.clear()
    world.tell(Asked(Wanted.FORCE if force else Wanted.STOP, by="ada"))
    assert ended(world) == (RunState.TERMINATED, {"a": T, "b": C, "post_process/mail": post})


def test_a_semaphore_is_held_by_as_many_as_it_has_places() -> None:
    steps = [step(f"s{at}", semaphores=("licence",)) for at in range(6)]
    world = World(plan(*steps, semaphores={"licence": 2}))
    assert ended(world)[0] is RunState.SUCCEEDED
    assert (world.most, world.state.semaphores.held["ada", "licence"]) == (2, 0)


@dataclass
class Counting(Semaphores):
    """Counts how often somebody tries to take one."""

    tries: int = 0

    def take(self, owner: str, names: tuple[str, ...], limits: Mapping[str, int]) -> str:
        self.tries += 1
        return super().take(owner, names, limits)


def test_whoever_waits_for_a_semaphore_is_not_asked_again_before_it_is_free() -> None:
    steps = [step(f"s{at}", semaphores=("licence",)) for at in range(300)]
    world = World(plan(*steps, semaphores={"licence": 1}, parallelism=300))
    semaphores = Counting()
    world.state.semaphores = semaphores
    assert ended(world)[0] is RunState.SUCCEEDED
    assert world.launched == [(f"s{at}", 1) for at in range(300)]
    assert semaphores.tries < 3 * 300


def test_who_waits_for_a_second_semaphore_leaves_the_first_to_others() -> None:
    both = step("both", semaphores=("oven", "sink"))
    steps = [step("bakes", semaphores=("oven",)), step("washes", semaphores=("sink",)), both]
    last = step("bakes_more", semaphores=("oven",))
    world = World(plan(*steps, last, semaphores={"oven": 1, "sink": 1})).begin()
    bakes, washes = [effect for effect in world.todo if isinstance(effect, Launch)]
    assert (bakes.node.path, washes.node.path) == ("bakes", "washes")
    for event in world.do(bakes):
        world.tell(event)
    assert "bakes_more" in [effect.node.path for effect in world.todo if isinstance(effect, Launch)]
    assert world.finish().run.life.state is RunState.SUCCEEDED


def test_who_waits_for_the_same_work_leaves_its_slot_to_others() -> None:
    cached = {"cache": Cache(enable=True), "semaphores": ("licence",)}
    again = step("a", retry=Retry(limit=1, backoff=timedelta(minutes=1)), **cached)
    same = [step(name, **cached) for name in ("b", "c")]
    world = World(plan(again, *same, parallelism=1, semaphores={"licence": 1})).begin()
    for path, verdict in (("a", Verdict.MISS), ("b", Verdict.WAIT), ("c", Verdict.WAIT)):
        world.tell(Judged(path, verdict, CacheTrace(key="k"), waiting_on="run-000001"))
        if path == "a":
            world.tell(JobSeen("a", 1, JobState.FAILED))
    world.now += timedelta(hours=1)
    world.tell(Passed())
    assert (world.nodes["a"].attempt, world.state.used) == (2, 1)
    world.tell(Judged("b", Verdict.MISS, CacheTrace(key="k")))
    assert (world.state.used, world.nodes["b"].waiting) == (1, Waiting.PARALLELISM)
    world.todo.clear()
    world.tell(JobSeen("a", 2, JobState.FAILED))
    assert world.run.life.state is RunState.FAILED


@pytest.mark.parametrize("seed", range(5))
def test_what_fails_while_somebody_stops_it_was_stopped(seed: int) -> None:
    world = World(plan(step("a"), step("b")), fails("a", "b"), chance=random.Random(seed)).begin()
    world.tell(Asked(Wanted.FORCE, by="ada"))
    world.finish()
    assert (world.run.life.state, world.states) == (RunState.TERMINATED, {"a": T, "b": T})
    assert {node.message for node in world.nodes.values()} == {"stopped by ada"}


def test_steps_are_counted() -> None:
    world = World(
        plan(step("a", loop=(1, 2, 3)), dag("d", step("s"), step("t", condition="no")), step("x", disabled=True))
    )
    ended(world)
    counts = world.run.life.steps
    assert (counts.succeeded, counts.skipped, counts.waiting, counts.running) == (4, 2, 0, 0)


@pytest.mark.parametrize("kept", [(), ("a[2]",)])
def test_what_was_left_out_stays_so_if_memory_is_lost_at_the_end_of_a_run(kept: tuple[str, ...]) -> None:
    post, late = step("mail", kind=Kind.POST_PROCESS), step("late", kind=Kind.EXIT_HANDLER, when=HandlerWhen.FAILED)
    loop = step("a", loop=(1, 2, 3, 4), max_parallel=1)
    world = World(plan(loop, post_process=post, on_exit=(late,)), fails("a")).begin()
    while world.state.phase is Phase.MAIN:
        world.step()
    world.nodes.update({path: replace(world.nodes["a"], path=path, iteration=2, state=S) for path in kept})
    for phase in (Phase.POST, Phase.EXIT):
        assert world.state.phase is phase
        world.crash()
        steps = world.run.life.steps
        assert (steps.cancelled, steps.failed) == (3 - len(kept), 1)
        while world.state.phase is phase:
            world.step()
    assert world.launched == [("a", 1), ("post_process/mail", 1), ("on_exit/late", 1)]
    assert world.run.life.state is RunState.FAILED


def test_what_was_left_out_of_a_loop_is_known_when_memory_is_lost_later() -> None:
    post = step("mail", kind=Kind.POST_PROCESS)
    world = World(plan(step("a", loop=(1, 2, 3), condition="bad"), post_process=post)).begin()
    assert world.states["a"] is F
    world.crash()
    assert ended(world) == (RunState.FAILED, {"a": F, "post_process/mail": S})
    assert world.run.life.steps.cancelled == 2
