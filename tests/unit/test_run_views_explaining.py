"""What is said of why nodes stand where they stand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from paddleflow.pipeline.v1 import run_pb2
from paddleflow.problems import NodeNotFound, RunNotFound
from pf_kit.principal import Principal, PrincipalKind
from pf_pipeline.artifacts.domain import CachedResult, CacheKey, NodeKey, Shelf
from pf_pipeline.documents.model import Approval, Cache, Retry, Strategy
from pf_pipeline.engine.core.happening import Asked, JobSeen, JobState, Judge, Judged, Launch, Verdict
from pf_pipeline.plans.domain import Plan, Planned, PlannedDag, PlannedStep
from pf_pipeline.runs.domain import CacheTrace, Node, Wanted
from support.run_worlds import World
from support.stored_runs import ADA, Kept, SilentJobs

RUN = "run-000001"


def step(name: str, *deps: str, **more: Any) -> PlannedStep:
    return PlannedStep(name=name, deps=deps, command="x", **more)


def plan(*components: Planned, **more: Any) -> Plan:
    return Plan(name="p", entry_points={each.name: each for each in components}, **more)


def fails(*paths: str) -> Callable[[Node], JobState]:
    return lambda node: JobState.FAILED if node.path in paths else JobState.SUCCEEDED


async def explained(kept: Kept, path: str) -> run_pb2.ExplainNodeResponse:
    await kept.keep()
    return await kept.explaining.explained(kept.database.newest, ADA, RUN, path)


async def reasons(kept: Kept, path: str) -> Sequence[str]:
    return list((await explained(kept, path)).reasons)


async def test_a_node_that_waits_says_for_whom_and_where_they_stand() -> None:
    loop = step("many", loop=(1, 2, 3), max_parallel=1)
    world = World(plan(step("a"), loop, step("b", "a", "many"), step("c", "b"), parallelism=2)).begin()
    kept = Kept(world)
    assert await reasons(kept, "b") == [
        "it waits for a, which waits for its job to begin",
        "it waits for many, of whose 3 iterations 0 are over",
    ]
    assert await reasons(kept, "c") == ["it waits for b, which has not begun"]
    assert await reasons(kept, "many[2]") == [
        "it waits for its turn: 2 of the 2 steps that may run at once do (`parallelism`)"
    ]


async def test_a_step_with_a_job_says_what_its_job_says() -> None:
    kept = Kept(World(plan(step("a"))).begin(), jobs=SilentJobs("the queue is full"))
    job = kept.world.nodes["a"].job
    more = f"`paddleflow job explain {job}` tells more of its job"
    assert await reasons(kept, "a") == ["its job waits: the queue is full", more]
    kept.jobs = SilentJobs()
    assert await reasons(kept, "a") == ["its job waits for its turn in its queue", more]


async def test_a_semaphore_is_held_by_somebody() -> None:
    steps = [step(name, semaphores=("licence",)) for name in ("a", "b")]
    kept = Kept(World(plan(*steps, semaphores={"licence": 1})).begin())
    assert await reasons(kept, "b") == [
        "it waits for the semaphore licence, which 1 may hold at once",
        f"those who hold it: {RUN} a",
    ]


async def test_an_approval_and_a_retry_have_their_times() -> None:
    approval = Approval(users=("bob", "eve"), message="is it good?", timeout=timedelta(hours=1))
    retry = Retry(limit=2, backoff=timedelta(minutes=1), max_backoff=timedelta(minutes=1), jitter=0)
    world = World(plan(step("a", approval=approval), step("b", retry=retry))).begin()
    b = world.nodes["b"]
    world.tell(JobSeen("b", b.attempt, JobState.FAILED, "exit status 3"))
    kept = Kept(world)
    assert await reasons(kept, "a") == [
        "it waits for the approval of bob, eve, until 2026-01-01 01:00:00 UTC",
        "is it good?",
        f"`paddleflow run approve {RUN} a` lets it go on",
    ]
    assert await reasons(kept, "b") == [
        "it is tried again at 2026-01-01 00:01:00 UTC",
        "try 1 of 3 failed: exit status 3",
    ]
    world.tell(Asked(Wanted.APPROVE, path="a", by="bob"))
    assert (await reasons(kept, "a"))[-1] == "bob approved it"


async def test_failures_lead_to_the_job_and_to_what_failed_inside() -> None:
    inner = PlannedDag(name="d", children={"s": step("s", retry=Retry(limit=0)), "t": step("t", "s")})
    world = World(plan(inner, step("e", "d"), strategy=Strategy.CONTINUE)).begin()
    node = world.nodes["d.s"]
    world.tell(JobSeen("d.s", 1, JobState.FAILED, "exit status 1"))
    kept = Kept(world)
    assert await reasons(kept, "d.s") == [
        "it failed: exit status 1",
        "try 1 of 1: that was the last try",
        f"`paddleflow job logs {node.job}` shows what it wrote",
        f"`paddleflow job explain {node.job}` tells more of its job",
        "its result is not cached: `cache.enable` is not set for it",
    ]
    assert await reasons(kept, "d") == ["it failed: s failed", "d.s failed: exit status 1"]
    assert await reasons(kept, "d.t") == ["it never began: s did not succeed", "s failed: exit status 1"]
    assert await reasons(kept, "e") == ["it never began: d did not succeed", "d failed: s failed"]


async def test_what_was_skipped_says_why() -> None:
    steps = [step("a", disabled=True), step("b", condition="no", parameters={"rate": 0.5, "name": "x" * 100})]
    kept = Kept(World(plan(*steps)).begin())
    assert await reasons(kept, "a") == ["it is disabled, by its document"]
    assert await reasons(kept, "b") == [
        "the condition does not hold: no",
        f"its parameters are rate = 0.5, name = {'x' * 79}\u2026",
    ]


async def test_a_dag_says_how_far_it_is() -> None:
    inner = PlannedDag(name="d", children={"s": step("s"), "t": step("t", "s")})
    world = World(plan(inner)).begin()
    world.step()
    assert await reasons(Kept(world), "d") == ["it runs: 1 of the 2 nodes it consists of are over"]


async def test_a_step_that_was_cancelled_says_by_whom() -> None:
    world = World(plan(step("a"), step("b", "a"))).begin()
    world.tell(Asked(Wanted.STOP, by="ada"))
    kept = Kept(world)
    assert await reasons(kept, "b") == ["it never began: stopped by ada"]
    assert (await reasons(kept, "a"))[0] == "its job is about to end: stopped by ada"


class Remembering(World):
    """A world whose cache says one thing."""

    verdict = Verdict.MISS
    trace = CacheTrace()

    def do(self, effect: Any) -> list[Any]:
        if isinstance(effect, Judge):
            waiting_on = "run-000009" if self.verdict is Verdict.WAIT else ""
            return [Judged(effect.node.path, self.verdict, self.trace, waiting_on=waiting_on)]
        return [] if isinstance(effect, Launch) else super().do(effect)


def remembering(verdict: Verdict, **trace: Any) -> Kept:
    world = Remembering(plan(step("a", cache=Cache(enable=True))))
    world.verdict, world.trace = verdict, CacheTrace(key="k2", **trace)
    world.begin().step()
    return Kept(world)


async def test_a_hit_says_from_which_run() -> None:
    told = await explained(remembering(Verdict.HIT, run="run-000007", job="job-7", message="as in run-000007, a"), "a")
    assert list(told.reasons) == ["it succeeded: as in run-000007, a"]
    assert told.cache == run_pb2.CacheExplanation(
        hit=True, key="k2", message="its result came from the cache: as in run-000007, a"
    )


async def test_a_miss_says_what_differs_from_the_nearest_result() -> None:
    now = {"command": "train --epochs 9", "parameters.rate": "0.5"}
    kept = remembering(Verdict.MISS, message="there is no result that fits", parts={"explanation": json.dumps(now)})
    before = CachedResult(
        cache_key=CacheKey(Shelf("ada", "", ""), "k1"),
        files="",
        made_by=NodeKey("run-000003", "a"),
        component="a",
        explanation=json.dumps(now | {"command": "train --epochs 3"}),
    )
    far = replace(before, made_by=NodeKey("run-000004", "a"), explanation="{}")
    async with kept.database.change() as change:
        await kept.artifacts.add_results(change, [before, far])
    node = kept.world.nodes["a"]
    kept.world.nodes["a"] = replace(node, start_time=None)
    told = (await explained(kept, "a")).cache
    (difference,) = told.differences
    assert (difference.what, difference.before, difference.now) == ("command", "train --epochs 3", "train --epochs 9")
    assert told.nearest == "cch-000001"
    assert told.message == (
        "there is no result that fits; most like it is cch-000001 of run-000003, which differs in 1 thing"
    )


async def test_a_miss_without_any_result_says_whose_results_count() -> None:
    told = (await explained(remembering(Verdict.MISS, message="there is no result that fits"), "a")).cache
    assert told.message == (
        "there is no result that fits; no earlier run of the same source (`cache.share`) has a result of this step"
    )


async def test_a_step_may_wait_for_the_same_step_of_another_run() -> None:
    kept = remembering(Verdict.WAIT, message="run-000009 is about to do the same in a")
    assert await reasons(kept, "a") == ["it waits for the same step of run run-000009, whose result it will take"]


async def test_only_who_may_see_a_run_is_told() -> None:
    kept = Kept(World(plan(step("a"))).begin())
    await kept.keep()
    with pytest.raises(RunNotFound):
        await kept.explaining.explained(kept.database.newest, Principal(PrincipalKind.USER, "eve"), RUN, "a")
    with pytest.raises(NodeNotFound):
        await kept.explaining.explained(kept.database.newest, ADA, RUN, "nobody")
