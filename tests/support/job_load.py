"""Jobs of every kind, each of which leaves a line for every time that it was started."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol
from uuid import uuid4

from google.protobuf.message import Message

from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.problems import (
    Aborted,
    DeadlineExceeded,
    FailedPrecondition,
    JobNotFound,
    JobStateConflict,
    Unavailable,
)
from paddleflow.queue.v1 import admission_pb2, workload_pb2
from support.waiting import until

TRANSIENT = (Unavailable, Aborted, DeadlineExceeded)
MOST_OPEN = 12
"""Jobs at a time."""
SETTLING = 60.0
"""Seconds in which all jobs end once no more come."""
MARK = "/marks"
"""Where a replica sees the folder in which it leaves its lines."""
TOLD = "$PF_JOB_TOKEN $PADDLE_PSERVERS_IP_PORT_LIST $PADDLE_TRAINER_ENDPOINTS"
"""What a line tells: which start of which replica it is, and of a crew who listens where."""
OVER = frozenset(
    {
        job_pb2.JOB_STATE_SUCCEEDED,
        job_pb2.JOB_STATE_FAILED,
        job_pb2.JOB_STATE_TERMINATED,
        job_pb2.JOB_STATE_PREEMPTED,
    }
)


class Service(Protocol):
    """What answers in the end, whoever dies meanwhile."""

    async def call(self, request: Message) -> Any:
        """The reply. Raises what is no outage."""


@dataclass(frozen=True)
class Kind:
    """A kind of job, and how it ends."""

    name: str
    script: str
    ends: job_pb2.JobState.ValueType
    queue: str = "low"
    """Who is in the other one, `high`, is never pushed out."""
    cores: int = 100
    """In thousandths."""
    retries: int = 0
    stopped: bool = False
    deleted: bool = False
    kept_ms: int = 0
    most: int = 0
    """Trainers of an elastic job; 0 if it has none."""
    together: bool = False
    """True if all trainers are started again when their number changes."""
    staged: bool = False
    """True if it has a master, which is started before its servers, and these before its trainers."""
    forgiving: bool = False
    """True if a trainer that fails is started again."""


SUCCEEDED, FAILED, TERMINATED = (
    job_pb2.JOB_STATE_SUCCEEDED,
    job_pb2.JOB_STATE_FAILED,
    job_pb2.JOB_STATE_TERMINATED,
)
CLUMSY = f'done="{MARK}/$PF_JOB_ID.$PADDLE_TRAINER_ID"; test -e "$done" || {{ touch "$done"; exit 3; }}'
"""Fails when it runs for the first time."""
KINDS = (
    Kind("single", "sleep 0.05", SUCCEEDED),
    Kind("failing", "exit 3", FAILED),
    Kind("retried", "exit 3", FAILED, queue="high", retries=2),
    Kind("stopped", "sleep 1000", TERMINATED, stopped=True),
    Kind("deaf", "trap '' TERM; sleep 1000 & wait; sleep 1000", TERMINATED, stopped=True),
    Kind("deleted", "true", SUCCEEDED, queue="high", deleted=True),
    Kind("brief", "true", SUCCEEDED, queue="high", kept_ms=100),
    Kind("short", "true", SUCCEEDED, queue="high", kept_ms=100),
    Kind("victim", "sleep 0.4", SUCCEEDED, cores=600),
    Kind("taker", "sleep 0.1", SUCCEEDED, queue="high", cores=1200),
    Kind("empty", "", FAILED),
    Kind("elastic", "sleep 2", SUCCEEDED, most=14),
    Kind("taker", "sleep 0.1", SUCCEEDED, queue="high", cores=1200),
    Kind("collective", "sleep 0.4", SUCCEEDED, most=5, together=True),
    Kind("crew", "sleep 0.2", SUCCEEDED, staged=True),
    Kind("clumsy", CLUMSY, SUCCEEDED, staged=True, forgiving=True),
)
PRIORITIES = (spec_pb2.PRIORITY_LOW, spec_pb2.PRIORITY_NORMAL, spec_pb2.PRIORITY_HIGH)


@dataclass
class Made:
    """A job that was accepted."""

    id: str
    kind: Kind
    gone: bool = False
    """It was deleted, or may be forgotten."""
    over: job_pb2.Job | None = None


@dataclass
class Load:
    """Makes jobs, stops and deletes some, until it is told to stop."""

    service: Service
    filesystem: str
    chance: Random
    jobs: dict[str, Made] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    async def make(self, name: str, stop: asyncio.Event) -> None:
        """Makes jobs, and stops some, under names of its own."""
        while not stop.is_set():
            await until(lambda: self.open < MOST_OPEN or stop.is_set(), SETTLING, 0.01)
            # As often as they are there, and those that are waited for first.
            kind = KINDS[next(self._numbers) % len(KINDS)]
            made = await self._create(name, kind)
            if kind.stopped:
                await asyncio.sleep(self.chance.choice((0, 0, 0.05, 0.2)))
                await self.service.call(job_pb2.StopJobRequest(id=made.id, now=self.chance.random() < 0.5))
            await self._rank()

    async def _rank(self) -> None:
        """Changes the priority of somebody, if that one waits."""
        others = [made for made in self.jobs.values() if made.over is None and made.kind.queue == "low"]
        if others:
            request = job_pb2.UpdateJobRequest(
                id=self.chance.choice(others).id, priority=self.chance.choice(PRIORITIES), request_id=uuid4().hex
            )
            with suppress(JobStateConflict, JobNotFound):
                await self.service.call(request)

    @property
    def open(self) -> int:
        return sum(made.over is None for made in self.jobs.values())

    async def follow(self, stop: asyncio.Event) -> None:
        """Looks how jobs stand until all are over, and deletes some that are."""
        while not stop.is_set() or self.open:
            for made in [made for made in self.jobs.values() if made.over is None]:
                await self._look(made)
            await asyncio.sleep(0.02)

    async def _create(self, name: str, kind: Kind) -> Made:
        made = Made(f"{kind.name}-{name}-{len(self.jobs)}", kind)
        # With an id of its own: one whose answer was lost may be over and forgotten when it is sent again.
        job = job_pb2.Job(spec=self._spec(made))
        await self.service.call(job_pb2.CreateJobRequest(job=job, request_id=made.id))
        self.jobs[made.id] = made
        return made

    def _spec(self, made: Made) -> spec_pb2.JobSpec:
        kind = made.kind
        mark = f": {self.filesystem}; echo started {TOLD} >> {MARK}/{made.id}; "
        spec = spec_pb2.JobSpec(
            id=made.id,
            command=f"{mark}{kind.script}" if kind.script else "",
            image="" if kind.script else "none",
            scheduling_policy=spec_pb2.SchedulingPolicy(queue=kind.queue),
            fs=spec_pb2.FilesystemMount(name=self.filesystem, mount_path=MARK),
        )
        spec.flavour.amounts.amounts.update(cpu=kind.cores, memory=2**20)
        spec.limits.grace.FromMilliseconds(100)
        if kind.most:
            spec.framework = spec_pb2.FRAMEWORK_PADDLE
            spec.limits.steady.FromMilliseconds(1000 if kind.together else 0)
            spec.members.add(role=spec_pb2.ROLE_WORKER, replicas=2, max_replicas=kind.most)
        if kind.most and not kind.together:
            spec.members.add(role=spec_pb2.ROLE_PSERVER, replicas=1, command=f"{mark}sleep 1000")
        if kind.staged:
            spec.framework = spec_pb2.FRAMEWORK_PADDLE
            spec.members.add(role=spec_pb2.ROLE_WORKER, replicas=2)
            for role in (spec_pb2.ROLE_PSERVER, spec_pb2.ROLE_MASTER):
                spec.members.add(role=role, replicas=1, command=f"{mark}sleep 1000")
        if kind.forgiving:
            spec.env["PF_JOB_RESTART_POLICY"] = "OnFailure"
        if kind.kept_ms:
            spec.limits.kept.FromMilliseconds(kind.kept_ms)
        if kind.retries:
            spec.retry.limit = kind.retries
            spec.retry.backoff.FromMilliseconds(10)
        return spec

    async def _look(self, made: Made) -> None:
        try:
            job = (await self.service.call(job_pb2.GetJobRequest(id=made.id))).job
        except JobNotFound:
            assert made.kind.kept_ms, f"{made.id} is lost"
            made.over, made.gone = job_pb2.Job(id=made.id, state=made.kind.ends), True
            return
        if job.state == job_pb2.JOB_STATE_PENDING and "held" in job.message:
            await self._resume(job)
        if job.state in OVER:
            if made.kind.deleted and not await self._delete(made):
                return
            made.over, made.gone = job, made.kind.deleted or bool(made.kind.kept_ms)

    async def _delete(self, made: Made) -> bool:
        """False while it is not released yet."""
        try:
            await self.service.call(job_pb2.DeleteJobRequest(id=made.id))
        except JobStateConflict:
            return False
        except JobNotFound:
            pass
        return True

    async def _resume(self, job: job_pb2.Job) -> None:
        key = workload_pb2.WorkloadKey(job_id=job.id, attempt=job.attempt)
        with suppress(FailedPrecondition):
            await self.service.call(admission_pb2.ResumeWorkloadRequest(key=key))


def wrong_ends(jobs: Mapping[str, Made]) -> Sequence[str]:
    """Jobs that did not end as their kind does."""
    return [
        f"{made.id}: {job_pb2.JobState.Name(made.over.state)} {made.over.message!r}"
        for made in jobs.values()
        if made.over is not None and made.over.state != made.kind.ends
    ]
