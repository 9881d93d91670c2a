"""How long the token of a replica is good."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from paddleflow.problems import TokenRevoked
from pf_job.jobs.bearers import Bearer, require_alive
from pf_job.jobs.domain import Job
from pf_job.jobs.life import Life
from pf_job.jobs.states import Stage
from pf_job.runtimes.port import ReplicaKey
from pf_job.specs.domain import JobSpec, JobType

GONE = {Stage.SUBMIT, Stage.QUEUED, Stage.REVISE, Stage.RELEASE, Stage.OVER}
LIFE = Life(accept_time=datetime(2030, 1, 1, tzinfo=UTC), stage=Stage.WATCH, attempt=2)
JOB = Job(id="j", owner="alice", type=JobType.SINGLE, spec=JobSpec(id="j"), life=LIFE, number=7)
BEARER = Bearer(7, ReplicaKey("j", 2, "worker", 0, 0))


@pytest.mark.parametrize("stage", sorted(set(Stage) - GONE))
def test_it_is_good_as_long_as_there_are_replicas(stage: Stage) -> None:
    job = replace(JOB, life=replace(LIFE, stage=stage))
    assert require_alive(job, BEARER) is job


@pytest.mark.parametrize("stage", sorted(GONE))
def test_it_is_not_when_there_are_none(stage: Stage) -> None:
    with pytest.raises(TokenRevoked):
        require_alive(replace(JOB, life=replace(LIFE, stage=stage)), BEARER)


@pytest.mark.parametrize("job", [None, replace(JOB, number=8), replace(JOB, life=replace(LIFE, attempt=3))])
def test_it_is_good_for_one_attempt_of_one_job(job: Job | None) -> None:
    with pytest.raises(TokenRevoked):
        require_alive(job, BEARER)
