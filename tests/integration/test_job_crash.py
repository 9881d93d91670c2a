"""Whoever is killed when: each job is over in the end or goes on, has run once in each attempt, and holds nothing."""

from __future__ import annotations

from fixtures_jobs import JobSite
from paddleflow.job.v1 import job_pb2
from test_job_runs import OVER, create, until, until_deleted


async def test_a_job_whose_replicas_never_begin_is_over(job_site: JobSite) -> None:
    made = await create(job_site, "")
    over = await until(job_site, made.id, *OVER)
    assert over.state == job_pb2.JOB_STATE_FAILED
    await until_deleted(job_site, made.id)
