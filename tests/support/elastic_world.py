"""A cluster in virtual time: admission as it decides, jobs as they live, and replicas that take a while to come and go.

What goes between the two services goes as the messages of their contract.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import TypeAlias

from pf_job.driving.convert import grant_of, news_of
from pf_job.jobs.dues import due, overdue
from pf_job.jobs.life import Event, Life, advance
from pf_job.jobs.states import Kind, Stage, State
from pf_job.jobs.terms import Terms
from pf_queue.admission.convert import admitted_message, event_message
from pf_queue.admission.core.places import QueueRules
from pf_queue.admission.core.pool import SECOND, Tuning
from pf_queue.admission.domain import Key, Outcome, Patience, RoleRequest, Spec
from pf_queue.admission.engine import Engine
from pf_queue.admission.layout import Layout, PoolId, PoolLayout
from pf_queue.quota.domain import QueueState
from pf_queue.resources import Resources

STEP = 0.1
"""Seconds between two looks at everything."""
EPOCH = datetime.fromtimestamp(0, UTC)
CLUSTER = PoolId("c")
Slot: TypeAlias = tuple[str, int]


@dataclass(frozen=True)
class Pace:
    """How many seconds replicas take, each at least and at most."""

    begin: tuple[float, float]
    end: tuple[float, float]
    """From the word to stop on."""


@dataclass(frozen=True)
class Part:
    """What a role is: replicas at least and at most, what each takes, and what it is started after."""

    name: str
    least: int
    most: int
    cores: int
    stage: int = 0


@dataclass
class Job:
    """A job, and its replicas by what they do."""

    name: str
    queue: str
    roles: Sequence[Part]
    terms: Terms
    submitted: float
    life: Life
    coming: set[Slot] = field(default_factory=set)
    running: set[Slot] = field(default_factory=set)
    going: set[Slot] = field(default_factory=set)
    first: float | None = None
    """When the first replica of the last role ran."""
    stopped: bool = False

    @property
    def slots(self) -> set[Slot]:
        return {(role, index) for role, wanted in self.life.replicas.items() for index in range(wanted)}

    @property
    def live(self) -> set[Slot]:
        return self.coming | self.running | self.going

    @property
    def cores(self) -> int:
        """What those take that run, also those that were told to stop."""
        each = {role.name: role.cores for role in self.roles}
        return sum(each[name] for name, _ in self.running | self.going)


class World:
    """The cluster, and the time."""

    def __init__(self, cores: int, queues: Mapping[str, tuple[int, int]], pace: Pace, seed: int) -> None:
        """`queues` are the guarantee and the ceiling of each."""
        self.now = 0.0
        self.cores = cores
        self.jobs: dict[str, Job] = {}
        self._pace = pace
        self._chance = Random(seed)
        self._later: list[tuple[float, int, Job, Slot, bool]] = []
        self._numbers = count()
        self._awake: dict[str, None] = {}
        """Jobs to which something has happened since they were looked at."""
        self._engine = Engine(Tuning(), Patience())
        self._engine.arrange(_layout(cores, queues), 0)

    def submit(self, name: str, queue: str, roles: Sequence[Part], steady: float) -> None:
        requests = tuple(RoleRequest(each.name, each.least, each.most, 1, _cores(each.cores)) for each in roles)
        longest = round(self._pace.end[1] * SECOND)
        self._engine.submit(Spec(key=Key(name, 1), queue=queue, user="u", roles=requests, grace=longest), self._micros)
        life = Life(accept_time=self._time, stage=Stage.QUEUED, state=State.PENDING)
        terms = Terms(steady=timedelta(seconds=steady))
        self.jobs[name] = Job(name, queue, roles, terms, self.now, life)

    def stop(self, name: str) -> None:
        """Ends a job: its room is free when its replicas are gone."""
        job = self.jobs[name]
        job.stopped = True
        self._awake[name] = None
        self._end(job, job.coming | job.running)

    def until(self, time: float) -> None:
        """Lets time go by."""
        while self.now < time:
            self.now += STEP
            self._replicas_go_on()
            awake, self._awake = self._awake, {}
            grows = (job.name for job in self.jobs.values() if job.life.grows)
            for name in dict.fromkeys((*awake, *grows)):
                self._look(self.jobs[name])
            while self._engine.round(self._micros):
                pass
            self._hear()

    @property
    def used(self) -> float:
        """The part of the cores that replicas take which run."""
        return sum(job.cores for job in self.jobs.values()) / self.cores

    def waits(self) -> Sequence[float]:
        """For each job, seconds until its first trainer ran; of those that wait still, until now."""
        return [(self.now if job.first is None else job.first) - job.submitted for job in self.jobs.values()]

    @property
    def _micros(self) -> int:
        return round(self.now * SECOND)

    @property
    def _time(self) -> datetime:
        return EPOCH + timedelta(seconds=self.now)

    def _replicas_go_on(self) -> None:
        while self._later and self._later[0][0] <= self.now:
            _, _, job, slot, begins = heappop(self._later)
            self._awake[job.name] = None
            if begins and slot in job.coming:
                job.coming.remove(slot)
                job.running.add(slot)
                if slot[0] == job.roles[-1].name and job.first is None:
                    job.first = self.now
            elif not begins:
                job.going.discard(slot)

    def _look(self, job: Job) -> None:
        """What the loops of the job service do about a job."""
        if job.stopped:
            self._release(job)
            return
        if (time := due(job.life, job.terms)) is not None and time <= self._time:
            self._tell(job, overdue(job.life, job.terms, self._time))
        match job.life.stage:
            case Stage.PART:
                self._end(job, (job.coming | job.running) - job.slots)
                self._tell(job, Event(kind=Kind.PARTED, attempt=1))
            case Stage.LAUNCH | Stage.RESIZE | Stage.WATCH:
                self._begin(job)
                self._move(job)
            case _:
                pass

    def _move(self, job: Job) -> None:
        """What its replicas mean for a job."""
        left = job.life.grant.left if job.life.grant else None
        if job.life.stage is Stage.RESIZE and left is not None:
            above = {role.name: left[role.name] - role.least for role in job.roles}
            record = self._engine.resize(Key(job.name, 1), f"{job.name}/1", above)
            event = Event(kind=Kind.RESIZED, attempt=1, left=left, grant=grant_of(admitted_message(record)))
            self._tell(job, event)
        elif left is not None and not job.live - job.slots:
            self._tell(job, Event(kind=Kind.FREED, attempt=1))
        elif job.slots <= job.running:
            self._engine.running(Key(job.name, 1), f"{job.name}/1", self._micros)
            self._tell(job, Event(kind=Kind.RUNNING, attempt=1))

    def _begin(self, job: Job) -> None:
        """Starts those of the next stage that has some to start, when all of the stages before run."""
        for role in sorted(job.roles, key=lambda role: role.stage):
            mine = {slot for slot in job.slots if slot[0] == role.name}
            for slot in mine - job.live:
                job.coming.add(slot)
                self._after(self._pace.begin, job, slot, begins=True)
            if not mine <= job.running:
                return

    def _end(self, job: Job, slots: set[Slot]) -> None:
        for slot in sorted(slots):
            job.coming.discard(slot)
            job.running.discard(slot)
            job.going.add(slot)
            self._after(self._pace.end, job, slot, begins=False)

    def _release(self, job: Job) -> None:
        if not job.live:
            grant = f"{job.name}/1" if job.life.grant else ""
            self._engine.release(Key(job.name, 1), grant, Outcome.FINISHED, self._micros)
            del self.jobs[job.name]

    def _after(self, seconds: tuple[float, float], job: Job, slot: Slot, *, begins: bool) -> None:
        time = self.now + self._chance.uniform(*seconds)
        heappush(self._later, (time, next(self._numbers), job, slot, begins))

    def _hear(self) -> None:
        heard: defaultdict[str, list[Event]] = defaultdict(list)
        for fact in self._engine.effects().facts:
            for news in news_of(event_message(fact)):
                heard[news.job].append(news.event)
        for name, events in heard.items():
            for event in _joined(events):
                if name in self.jobs:
                    self._tell(self.jobs[name], event)

    def _tell(self, job: Job, event: Event) -> None:
        before, job.life = job.life, advance(job.life, event, job.terms, self._time)
        if job.life != before:
            self._awake[job.name] = None


def _joined(events: Sequence[Event]) -> Iterator[Event]:
    """Of admissions that come together the last, as it is told to jobs."""
    for event, following in zip(events, (*events[1:], None), strict=True):
        if not (event.kind is Kind.ADMITTED and following is not None and following.kind is Kind.ADMITTED):
            yield event


def _layout(cores: int, queues: Mapping[str, tuple[int, int]]) -> Layout:
    rules = tuple(
        QueueRules(name=name, min=_cores(least), max=_cores(most), lend_limit={}, max_per_user={})
        for name, (least, most) in queues.items()
    )
    pool = PoolLayout(rules, _cores(cores), (_cores(cores),), reported=True, online=True)
    return Layout({CLUSTER: pool}, dict.fromkeys(queues, CLUSTER), dict.fromkeys(queues, QueueState.OPEN))


def _cores(count: int) -> Resources:
    return Resources({"cpu": count * 1000})
