"""Elastic jobs as they are driven: who is started, who is ended, and what the queue is told."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from random import Random

import pytest

from pf_job.driving.ports import AttemptKey
from pf_job.jobs.domain import ENDED, Task, TaskKey, TaskState
from pf_job.jobs.states import Stage, State
from pf_job.runtimes.fake import FakeRuntime, Faults
from pf_job.specs.domain import Framework, JobSpec, Member, RetryPolicy, Role, TimeLimits, Work
from support.job_rig import Rig, driven
from support.waiting import eventually, until

WORK = Work(command="sleep 1000")
AT_ONCE = TimeLimits(steady=timedelta(0))
JOINING = JobSpec(
    framework=Framework.PADDLE,
    work=WORK,
    members=(Member(role=Role.PSERVER), Member(role=Role.WORKER, replicas=2, max_replicas=6)),
    limits=AT_ONCE,
)
"""Workers of parameter servers: they come and go, and the others do not care."""
TOGETHER = JobSpec(
    framework=Framework.PADDLE,
    work=WORK,
    members=(Member(role=Role.WORKER, replicas=2, max_replicas=6),),
    limits=AT_ONCE,
)
"""A collective: with another number of workers all of them are started again."""


def starts(crew: Sequence[Task]) -> list[tuple[str, int, int]]:
    return [(task.key.role, task.key.index, task.key.restart) for task in crew]


async def grown(rig: Rig, spec: JobSpec, workers: int) -> None:
    """A job of so many workers, which run."""
    job = await rig.create(spec)
    await rig.until_runs(2)
    rig.queue.grow(job, workers - 2)
    await rig.until_runs(workers)


async def what(rig: Rig) -> list[str]:
    told = [happening for happening in await rig.happenings() if happening.what in ("grown", "shrunk", "regrouping")]
    return [f"{happening.what} {happening.message}" for happening in told]


async def test_newcomers_join_and_nobody_is_started_again() -> None:
    async with driven() as rig:
        await grown(rig, JOINING, 5)
        crew = await rig.crew()
        assert starts(crew) == [("pserver", 0, 0), *(("worker", index, 0) for index in range(5))]
        assert len({port for task in crew for port in task.ports.values()}) == sum(len(task.ports) for task in crew)
        assert len(rig.runtime.begun) == 6


async def test_the_last_are_ended_and_given_back_and_the_others_run_on() -> None:
    async with driven() as rig:
        await grown(rig, JOINING, 5)
        rig.queue.take(await rig.job(), 2)
        crew = await rig.until_runs(3)
        await until(lambda: rig.queue.held[AttemptKey("job", 1)].replicas["worker"] == 3)
        assert starts(crew) == [("pserver", 0, 0), *(("worker", index, 0) for index in range(3))]
        ended = [task for task in await rig.tasks() if task.state is TaskState.STOPPED]
        assert starts(ended) == [("worker", 3, 0), ("worker", 4, 0)]
        assert [left.surplus for left in rig.queue.resized] == [{"pserver": 0, "worker": 1}]
        assert (await what(rig))[-1] == "shrunk worker from 5 to 3: the room is needed (other)"


async def test_who_shrank_grows_again_under_new_starts() -> None:
    async with driven() as rig:
        await grown(rig, JOINING, 4)
        rig.queue.take(await rig.job(), 2)
        await rig.until_runs(2)
        await rig.until(Stage.WATCH)
        await until(lambda: rig.queue.held[AttemptKey("job", 1)].replicas["worker"] == 2)
        rig.queue.grow(await rig.job(), 1)
        assert starts(await rig.until_runs(3))[-1] == ("worker", 2, 1)


async def test_all_of_a_collective_are_started_again_together() -> None:
    async with driven() as rig:
        await grown(rig, TOGETHER, 4)
        first, second = await rig.crew(), len(rig.runtime.begun)
        assert {task.key.restart for task in first[:2]} >= {1}
        rig.queue.take(await rig.job(), 1)
        crew = await rig.until_runs(3)
        assert all(new.key.restart == old.key.restart + 1 for old, new in zip(first, crew, strict=False))
        assert len(rig.runtime.begun) == second + 3
        env = await _environment(rig, crew[0])
        assert env["PADDLE_TRAINERS_NUM"] == "3"
        assert len(env["PADDLE_TRAINER_ENDPOINTS"].split(",")) == 3
        assert env["PADDLE_ELASTIC_NP"] == "2:6"


async def _environment(rig: Rig, task: Task) -> dict[str, str]:
    return dict(rig.runtime._replicas[task.key].launch.env)  # noqa: SLF001  # what a program would see of itself


async def test_none_of_a_collective_is_started_while_one_of_the_old_crew_is_left() -> None:
    async with driven() as rig:
        spec = JobSpec(
            framework=Framework.PADDLE,
            work=Work(command="trap '' TERM; sleep 1000"),
            members=TOGETHER.members,
            limits=TimeLimits(steady=timedelta(0), grace=timedelta(seconds=0.3)),
        )
        await grown(rig, spec, 3)
        by_end = sorted(task.finish_time for task in await rig.tasks() if task.finish_time)
        assert by_end[-1] <= min(task.start_time for task in await rig.crew() if task.start_time)


async def test_surplus_that_was_asked_for_while_events_were_missed_is_given_back() -> None:
    async with driven() as rig:
        await grown(rig, JOINING, 4)
        rig.queue.take(await rig.job(), 1, heard=False)
        rig.amiss.set()
        await rig.until_runs(3)
        await until(lambda: rig.queue.held[AttemptKey("job", 1)].replicas["worker"] == 3)


async def test_a_worker_that_is_lost_is_replaced_until_it_was_lost_too_often() -> None:
    async with driven() as rig:
        await grown(rig, JOINING, 3)
        for restart in range(4):
            lost = (await rig.until_runs(3))[2]
            assert lost.key.restart == restart
            rig.runtime.end(lost.key, 7)
            await eventually(partial(_is_over, rig, lost.key))
        crew = await rig.until_runs(3)
        assert (crew[2].state, (await rig.job()).life.state) == (TaskState.FAILED, State.RUNNING)


async def _is_over(rig: Rig, key: TaskKey) -> bool:
    return any(task.key == key and task.state in ENDED for task in await rig.tasks())


async def test_a_job_whose_other_workers_are_done_is_done_without_the_one_that_was_given_up() -> None:
    async with driven() as rig:
        await grown(rig, JOINING, 3)
        for _ in range(4):
            lost = (await rig.until_runs(3))[3]
            rig.runtime.end(lost.key, 7)
            await eventually(partial(_is_over, rig, lost.key))
        for task in (await rig.until_runs(3))[1:3]:
            rig.runtime.end(task.key, 0)
        job = await rig.until(Stage.OVER)
        assert job.life.state is State.SUCCEEDED


async def test_too_few_are_left_without_a_worker() -> None:
    async with driven() as rig:
        await rig.create(JOINING)
        rig.runtime.end((await rig.until_runs(2))[2].key, 7)
        job = await rig.until(Stage.OVER)
        assert (job.life.state, job.life.message) == (State.FAILED, "worker 1 ended with exit status 7")


async def test_all_of_a_collective_are_started_again_when_one_is_lost() -> None:
    async with driven() as rig:
        await grown(rig, TOGETHER, 3)
        before = await rig.crew()
        rig.runtime.lose(before[1].key)
        await until(lambda: len(rig.runtime.begun) == 2 + 3 + 3)
        crew = await rig.until_runs(3)
        assert [new.key.restart for new in crew] == [old.key.restart + 1 for old in before]
        states = Counter(task.state for task in await rig.tasks())
        assert states == {TaskState.STOPPED: 4, TaskState.LOST: 1, TaskState.RUNNING: 3}
        assert (await what(rig))[-1] == "regrouping worker 1: its machine is gone; all are started again"


async def test_those_that_fall_with_another_are_not_blamed() -> None:
    async with driven() as rig:
        await grown(rig, TOGETHER, 3)
        for turn in range(3):
            crew = await rig.until_runs(3)
            rig.runtime.end(crew[turn].key, 1)
            for task in crew:
                rig.runtime.end(task.key, 134)
            await until(lambda: len(rig.runtime.begun) == 2 + 3 + 3 * (turn + 1))  # noqa: B023  # not kept
        await rig.until_runs(3)
        failed = [task for task in await rig.tasks() if task.state is TaskState.FAILED]
        assert [(task.key.index, task.status) for task in failed] == [(0, 1), (1, 1), (2, 1)]


async def test_a_collective_goes_on_with_fewer_when_one_of_it_is_given_up_and_does_not_grow_again_at_once() -> None:
    async with driven() as rig:
        spec = JobSpec(framework=Framework.PADDLE, work=WORK, members=TOGETHER.members, limits=AT_ONCE)
        await grown(rig, spec, 3)
        for turn in range(4):
            crew = await rig.until_runs(3)
            rig.runtime.end(crew[2].key, 1)
            await until(lambda: len(rig.runtime.begun) >= 2 + 3 + 3 * turn + 2)  # noqa: B023  # not kept
        crew = await rig.until_runs(2)
        await until(lambda: rig.queue.held[AttemptKey("job", 1)].replicas["worker"] == 2)
        assert (await what(rig))[-1].startswith("shrunk worker from 3 to 2: worker 2 ended with exit status 1")


async def test_nobody_joins_a_crew_of_which_somebody_is_done() -> None:
    async with driven() as rig:
        job = await rig.create(JOINING)
        crew = await rig.until_runs(2)
        rig.runtime.end(crew[1].key, 0)
        await eventually(lambda: _ended(rig, 1))
        settled = (await rig.job()).life.settle_time
        rig.queue.grow(job, 1)

        async def looked() -> bool:
            return (await rig.job()).life.settle_time != settled

        await eventually(looked)
        assert (await rig.job()).life.replicas["worker"] == 2
        rig.runtime.end(crew[2].key, 0)
        assert (await rig.until(Stage.OVER)).life.state is State.SUCCEEDED


async def _ended(rig: Rig, count: int) -> bool:
    return sum(task.state is TaskState.SUCCEEDED for task in await rig.tasks()) == count


async def test_a_crew_stays_as_it_is_for_as_long_as_it_is_to() -> None:
    async with driven() as rig:
        job = await rig.create(
            JobSpec(framework=Framework.PADDLE, work=WORK, members=TOGETHER.members, limits=TimeLimits())
        )
        await rig.until_runs(2)
        rig.queue.grow(job, 2)

        async def held() -> bool:
            grant = (await rig.job()).life.grant
            return grant is not None and grant.replicas["worker"] == 4

        await eventually(held)
        for _ in range(20):
            await asyncio.sleep(0)
        assert (await rig.job()).life.replicas["worker"] == 2, "for a minute"
        rig.queue.take(await rig.job(), 2)
        await until(lambda: rig.queue.held[AttemptKey("job", 1)].replicas["worker"] == 2)
        assert len(rig.runtime.begun) == 2, "nobody was ended for what nobody made use of"


@pytest.mark.parametrize("spec", [JOINING, TOGETHER], ids=["joining", "together"])
async def test_a_job_that_is_pushed_out_begins_anew_with_its_least(spec: JobSpec) -> None:
    async with driven() as rig:
        await grown(rig, spec, 4)
        rig.queue.take(await rig.job(), 1)
        rig.queue.evict(await rig.job())

        async def next_attempt() -> bool:
            job = await rig.job()
            return job.life.attempt == 2 and job.life.stage is Stage.WATCH

        await eventually(next_attempt)
        assert starts(await rig.until_runs(2))[-1] == ("worker", 1, 0)
        assert rig.queue.over == [AttemptKey("job", 1)]


async def test_a_job_that_fails_while_it_shrinks_is_tried_again_with_all_that_it_held_given_back() -> None:
    async with driven() as rig:
        spec = JobSpec(
            framework=Framework.PADDLE,
            work=Work(command="trap '' TERM; sleep 1000"),
            members=JOINING.members,
            limits=TimeLimits(steady=timedelta(0), grace=timedelta(seconds=0.1)),
            retry=RetryPolicy(limit=1, backoff=timedelta(0)),
        )
        await grown(rig, spec, 4)
        rig.queue.take(await rig.job(), 1)
        await eventually(lambda: _stops(rig))
        rig.runtime.end((await rig.crew())[0].key, 3)
        await eventually(lambda: _attempt(rig, 2))
        await rig.until_runs(2)
        assert rig.queue.over == [AttemptKey("job", 1)]


async def _stops(rig: Rig) -> bool:
    return any(task.state is TaskState.STOPPING for task in await rig.tasks())


async def _attempt(rig: Rig, attempt: int) -> bool:
    return (await rig.job()).life.attempt == attempt


@pytest.mark.parametrize("spec", [JOINING, TOGETHER], ids=["joining", "together"])
@pytest.mark.parametrize("seed", range(4))
async def test_a_runtime_that_fails_by_chance_starts_nobody_twice_and_the_queue_gets_back_all(
    spec: JobSpec, seed: int
) -> None:
    chance = Random(seed)
    runtime = FakeRuntime(Faults(chance, before=150, after=150, broken=50))
    async with driven(runtime) as rig:
        job = await rig.create(spec)
        await rig.until_runs(2)
        for _ in range(6):
            workers = rig.queue.workers(job)
            if chance.random() < 0.5 and workers < 6:
                rig.queue.grow(job, chance.randint(1, 6 - workers))
            elif workers > 2:
                rig.queue.take(job, chance.randint(1, workers - 2))
            await eventually(partial(_has_given_back, rig))
        crew = await rig.until_runs(rig.queue.workers(job))
        assert len(set(runtime.begun)) == len(runtime.begun)
        assert sum(task.key.role == "worker" for task in crew) == rig.queue.workers(job)


async def _has_given_back(rig: Rig) -> bool:
    return not any(rig.queue.leaving.values()) and (await rig.job()).life.stage is Stage.WATCH
