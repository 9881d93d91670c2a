"""Whoever is killed when: each job is over in the end or goes on, has run once in each attempt, and holds nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random

import pytest

from fixtures_jobs import JobSite
from paddleflow.job.v1 import job_pb2, spec_pb2
from support.job_chaos import Victim, blows, endure, site
from support.job_failpoints import JobPoint
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually

SEED = 20261118
KILLS = 50


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Says how far a long test is."""

    def told(text: str) -> None:
        with capsys.disabled():
            sys.stderr.write(f"{text}\n")

    return told


async def test_a_job_whose_replicas_never_begin_is_over(job_site: JobSite) -> None:
    made = (await job_site.root(job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec_pb2.JobSpec(image="none"))))).job

    async def failed() -> bool:
        found = (await job_site.root(job_pb2.GetJobRequest(id=made.id))).job
        return bool(found.state == job_pb2.JOB_STATE_FAILED)

    await eventually(failed, 30.0)


def test_the_kills_hit_the_job_service_at_every_point_and_everybody_sometime() -> None:
    planned = blows(Random(SEED), KILLS)
    assert {blow.point for blow in planned if blow.victim is Victim.JOB} == {*JobPoint, None}
    assert {blow.victim for blow in planned} == set(Victim)


@pytest.mark.timeout(300)
async def test_every_kill_starts_nobody_twice(
    own_postgres: PostgresServer, own_valkey: ValkeyServer, tell: Callable[[str], None]
) -> None:
    chance = Random(SEED)
    async with site(own_postgres, own_valkey) as made:
        await endure(made, blows(chance, KILLS), chance, tell)


@pytest.mark.crash
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
async def test_many_kills_start_nobody_twice(
    own_postgres: PostgresServer, own_valkey: ValkeyServer, tell: Callable[[str], None], seed: int
) -> None:
    chance = Random(seed)
    async with site(own_postgres, own_valkey) as made:
        await endure(made, blows(chance, 250), chance, tell)
