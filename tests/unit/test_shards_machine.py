"""Whatever trainers do, and however late their words come: each shard of each pass is done once, or left out."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from paddleflow.problems import TokenRevoked
from pf_job.jobs.bearers import Bearer
from pf_job.jobs.domain import Job, Task, TaskKey, TaskState
from pf_job.jobs.life import Life
from pf_job.jobs.memory import MemoryJobStore
from pf_job.jobs.service import Jobs
from pf_job.jobs.states import Stage
from pf_job.jobs.store import job_lock
from pf_job.shards.domain import Dataset, DatasetKey, Lease, Plan, Shard, ShardState
from pf_job.shards.memory import MemoryShardStore
from pf_job.shards.service import Answer, Call, Shards
from pf_job.shards.sheet import Ask, Finish, GiveBack, Over, Renew, Wish
from pf_job.specs.domain import JobSpec, JobType
from pf_kit.events import Fact
from pf_kit.memory import MemoryDatabase
from support.hand_clock import HandClock

KEY = DatasetKey("j", "d")
LEASE = 10
R = TypeVar("R")
TRAINERS = st.integers(0, 2)


def no_events(event: object) -> Fact:
    raise TypeError(event)


class Trainers(RuleBasedStateMachine):
    """Trainers that lease, finish, fail, are killed, come again, and say things long after they were true."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = HandClock()
        self.database = MemoryDatabase(encode=no_events, clock=self.clock)
        self.jobs, self.store = MemoryJobStore(), MemoryShardStore()
        self.shards = Shards(store=self.store, kept=self.jobs, jobs=Jobs(store=self.jobs, sight=None))  # type: ignore[arg-type]  # nobody asks
        self.plan = Plan(total=1)
        self.number = 0
        self.attempt = 1
        self.restarts: Counter[int] = Counter()
        self.given: list[tuple[Bearer, Lease]] = []
        """All leases ever, which somebody may still talk about."""
        self.finished: Counter[tuple[int, int]] = Counter()
        """How often a shard of a pass was counted as done."""

    @property
    def begun(self) -> bool:
        return self.number > 0

    def run(self, what: Coroutine[Any, Any, R]) -> R:
        return self.loop.run_until_complete(what)

    def teardown(self) -> None:
        if self.begun:
            self.drain()
        self.loop.close()

    @initialize(
        total=st.integers(1, 5),
        size=st.integers(1, 2),
        passes=st.integers(1, 2),
        retries=st.integers(0, 4),
        seed=st.none() | st.integers(0, 99),
    )
    def begin(self, **plan: Any) -> None:
        self.plan = Plan(lease=timedelta(seconds=LEASE), **plan)
        self.run(self._begin())

    async def _begin(self) -> None:
        life = replace(Life(accept_time=self.clock.now()), stage=Stage.WATCH)
        job = Job(id="j", owner="ada", type=JobType.SINGLE, spec=JobSpec(id="j"), life=life)
        async with self.database.change(job_lock("j")) as change:
            (kept,) = await self.jobs.add(change, [job])
            self.number = kept.number
            await self.shards.open(change, KEY, self.plan, ())

    @rule(trainers=st.lists(TRAINERS, min_size=1, max_size=3), pass_=st.sampled_from([0, 0, 0, 1, 2]))
    def lease(self, trainers: list[int], pass_: int) -> None:
        bearers = [self.bearer(trainer) for trainer in trainers]
        answers = self.ask(*((bearer, Wish(bearer.replica, pass_)) for bearer in bearers))
        for bearer, answer in zip(bearers, answers, strict=True):
            if isinstance(answer.outcome, Shard):
                self.given.append((bearer, answer.outcome.lease))

    @precondition(lambda self: self.given)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        bearer, lease = self.some(data)
        self.note(lease, self.ask((bearer, Finish(lease)))[0])

    @precondition(lambda self: self.given)
    @rule(data=st.data(), failed=st.booleans())
    def give_back(self, data: st.DataObject, failed: bool) -> None:
        bearer, lease = self.some(data)
        self.ask((bearer, GiveBack(lease, "told", failed)))

    @precondition(lambda self: self.given)
    @rule(data=st.data())
    def renew_and_finish_at_once(self, data: st.DataObject) -> None:
        (one, first), (two, second) = self.some(data), self.some(data)
        renewed, done = self.ask((one, Renew([first, second])), (two, Finish(second)))
        assert isinstance(renewed.outcome, list)
        assert (second in renewed.outcome) == (done.outcome is True), "what is still held can be finished"
        self.note(second, done)

    @precondition(lambda self: self.given)
    @rule(data=st.data(), trainers=st.lists(TRAINERS, min_size=1, max_size=2))
    def finish_while_others_lease(self, data: st.DataObject, trainers: list[int]) -> None:
        (teller, lease), bearers = self.some(data), [self.bearer(trainer) for trainer in trainers]
        done, *answers = self.ask((teller, Finish(lease)), *((each, Wish(each.replica)) for each in bearers))
        self.note(lease, done)
        for bearer, answer in zip(bearers, answers, strict=True):
            if isinstance(answer.outcome, Shard):
                self.given.append((bearer, answer.outcome.lease))

    @rule(seconds=st.sampled_from([1, LEASE]))
    def wait(self, seconds: int) -> None:
        self.clock.wall += seconds

    @rule(trainer=TRAINERS, state=st.sampled_from([TaskState.LOST, TaskState.FAILED, TaskState.STOPPED]))
    def kill(self, trainer: int, state: TaskState) -> None:
        """Ends a trainer; it comes again as its next start."""
        self.run(self._put(Task(key=self.bearer(trainer).replica, state=state)))
        self.restarts[trainer] += 1

    @rule()
    def begin_another_attempt(self) -> None:
        self.attempt += 1
        self.run(self._move())

    @invariant()
    def nothing_is_counted_twice(self) -> None:
        assert all(count == 1 for count in self.finished.values())

    @invariant()
    def counts_agree_with_what_is_kept(self) -> None:
        if not self.begun:
            return
        dataset, kept = self.dataset(), self.kept()
        shown = min(dataset.pass_, self.plan.passes)
        states = Counter(shard.state for shard in kept if shard.lease.pass_ == shown)
        assert (dataset.leased, dataset.returned) == (states[ShardState.LEASED], states[ShardState.RETURNED])
        assert dataset.failed == states[ShardState.FAILED]
        assert dataset.done == sum(pass_ == shown for pass_, _ in self.finished)
        assert dataset.todo + dataset.leased + dataset.done + dataset.failed == self.plan.shards

    def drain(self) -> None:
        """One trainer that does not fail gets all the rest done."""
        for _ in range(200):
            bearer = self.bearer(0)
            (answer,) = self.ask((bearer, Wish(bearer.replica)))
            match answer.outcome:
                case Shard(lease=lease):
                    self.note(lease, self.ask((bearer, Finish(lease)))[0])
                case Over():
                    break
                case _:
                    self.clock.wall += LEASE
        assert self.dataset().over
        failed = {shard.lease.place for shard in self.kept()}
        assert not failed & self.finished.keys()
        every = {(pass_, number) for pass_ in range(1, self.plan.passes + 1) for number in range(self.plan.shards)}
        assert failed | self.finished.keys() == every

    def some(self, data: st.DataObject) -> tuple[Bearer, Lease]:
        """A lease that was given once, and a trainer of this attempt that says something about it."""
        bearer, lease = data.draw(st.sampled_from(self.given[-5:]))
        return replace(bearer, replica=replace(bearer.replica, attempt=self.attempt)), lease

    def bearer(self, trainer: int) -> Bearer:
        return Bearer(self.number, TaskKey("j", self.attempt, "worker", trainer, self.restarts[trainer]))

    def note(self, lease: Lease, answer: Answer) -> None:
        if answer.outcome is True:
            self.finished[lease.place] += 1

    def ask(self, *asked: tuple[Bearer, Ask]) -> Sequence[Answer]:
        """The answers to several who ask at once."""
        return self.run(self._ask([Call(bearer, "d", ask) for bearer, ask in asked]))

    async def _ask(self, calls: Sequence[Call]) -> Sequence[Answer]:
        stale = replace(calls[0], bearer=replace(calls[0].bearer, number=self.number + 1))
        async with self.database.change(job_lock("j")) as change:
            *answers, refused = await self.shards.serve(change, "j", [*calls, stale])
        assert isinstance(refused, TokenRevoked), "the token of another job of this id"
        return [answer for answer in answers if isinstance(answer, Answer)]

    async def _put(self, task: Task) -> None:
        async with self.database.change(job_lock("j")) as change:
            await self.jobs.put_tasks(change, [task])

    async def _move(self) -> None:
        async with self.database.change(job_lock("j")) as change:
            (job,) = await self.jobs.jobs(change, ["j"])
            await self.jobs.save(change, [replace(job, life=replace(job.life, attempt=self.attempt))])

    def dataset(self) -> Dataset:
        return self.run(self.shards.get(self.database.newest, KEY))

    def kept(self) -> Sequence[Shard]:
        return self.run(self.store.shards(self.database.newest, KEY, list(ShardState), (0, -1), 1000))


Trainers.TestCase.settings = settings(max_examples=150, stateful_step_count=30)
TestTrainers = Trainers.TestCase
