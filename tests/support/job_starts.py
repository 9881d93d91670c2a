"""Judges what replicas tell of their starts: each once, in the order of their crew, and all told the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import jwt

from paddleflow.job.v1 import job_pb2, spec_pb2
from support.job_load import Made

ENDED = (job_pb2.TASK_STATE_SUCCEEDED, job_pb2.TASK_STATE_FAILED)
"""States of those that have an exit status, and so have run."""
STAGES = (spec_pb2.ROLE_MASTER, spec_pb2.ROLE_PSERVER, spec_pb2.ROLE_WORKER)


@dataclass(frozen=True, slots=True, order=True)
class Start:
    """One start of one replica."""

    attempt: int
    role: str
    index: int
    restart: int

    @classmethod
    def of(cls, task: job_pb2.Task) -> Start:
        role = spec_pb2.Role.Name(task.role).removeprefix("ROLE_").lower()
        return cls(task.attempt, role, task.index, task.restarts)


@dataclass(frozen=True, slots=True)
class Line:
    """What a replica told when it was started."""

    start: Start
    endpoints: Sequence[str]
    """Where the servers and the trainers listen, as it was told."""

    @classmethod
    def parse(cls, line: str) -> Line:
        _, token, *endpoints = line.split()
        claims = jwt.decode(token, options={"verify_signature": False})
        _, attempt, role, index, restart = claims["jti"].split("/")
        return cls(Start(int(attempt), role, int(index), int(restart)), endpoints)


def require_one_start_each(job: Made, lines: Sequence[Line], tasks: Sequence[job_pb2.Task]) -> None:
    """Nobody was started twice, nobody that was not noted; and who has an exit status was started."""
    told = Counter(line.start for line in lines)
    twice = [start for start, count in told.items() if count > 1]
    assert not twice, f"{job.id}: started twice: {twice}"
    begun = {Start.of(task) for task in tasks if task.HasField("start_time")}
    ended = {Start.of(task) for task in tasks if task.state in ENDED}
    assert ended <= told.keys() <= begun, f"{job.id}: told {sorted(told)}, begun {sorted(begun)}, ended {sorted(ended)}"
    if job.kind.retries:
        assert len(told) == job.kind.retries + 1, f"{job.id} was tried {len(told)} times"
    if job.kind.staged:
        _require_stages(job, tasks)
        _require_same_endpoints(job, lines)
    if job.kind.forgiving and all(start.attempt == 1 for start in told):
        assert any(start.restart for start in told), f"{job.id}: nobody was started again"


def _require_stages(job: Made, tasks: Sequence[job_pb2.Task]) -> None:
    """In each attempt nobody begins before all of the stage before have."""
    for attempt, begins in _begins(tasks).items():
        for earlier, later in pairwise(STAGES):
            if begins[later]:
                assert begins[earlier], f"{job.id}: attempt {attempt} has no {earlier} and a {later}"
                assert max(begins[earlier]) <= min(begins[later]), f"{job.id}: attempt {attempt} began in no order"


def _begins(tasks: Sequence[job_pb2.Task]) -> Mapping[int, Mapping[int, Sequence[int]]]:
    """When replicas began for the first time, by attempt and role."""
    found: defaultdict[int, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for task in tasks:
        if task.HasField("start_time") and not task.restarts:
            found[task.attempt][task.role].append(task.start_time.ToMicroseconds())
    return found


def _require_same_endpoints(job: Made, lines: Sequence[Line]) -> None:
    """In each attempt all were told the same, and no two listen at the same place."""
    told: defaultdict[int, set[tuple[str, ...]]] = defaultdict(set)
    for line in lines:
        told[line.start.attempt].add(tuple(line.endpoints))
    for attempt, ways in told.items():
        assert len(ways) == 1, f"{job.id}: attempt {attempt} was told {ways}"
        every = [endpoint for part in next(iter(ways)) for endpoint in part.split(",")]
        assert len(every) == len(set(every)) == 3, f"{job.id}: attempt {attempt} was told {every}"
