"""What happens to a job is told in order, each once, from any point on, until the job is over."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures_jobs import JobSite
from paddleflow.aio import AsyncPaddleFlow
from paddleflow.job.v1 import job_pb2
from paddleflow.models import JobFlavour, JobSpec
from paddleflow.problems import JobNotFound
from paddleflow.sync import PaddleFlow
from support.callers import Caller
from support.command_line import CommandLine
from support.job_logs import create, over, running
from support.queue_process import ROOT_PASSWORD
from support.queue_site import PASSWORD

WHOLE = ["accepted", "admitted", "running", "ended", "succeeded"]
QUICK = JobSpec(command="true", flavour=JobFlavour(amounts={"cpu": 100, "memory": 2**20}))
SOON = 5.0
"""Seconds in which a happening is told."""


def ask(id_: str, after: int = 0, *, follow: bool = True) -> job_pb2.WatchHappeningsRequest:
    return job_pb2.WatchHappeningsRequest(id=id_, after=after, follow=follow)


async def told(caller: Caller, request: job_pb2.WatchHappeningsRequest) -> Sequence[job_pb2.Happening]:
    """All that a stream tells until it ends."""
    return [each async for message in caller.watch(request) for each in message.happenings]


async def test_a_stream_tells_all_in_order_and_ends_with_the_job(job_site: JobSite) -> None:
    made = await create(job_site, "sleep 0.5")
    found = await told(job_site.root, ask(made))
    assert [each.what for each in found] == WHOLE
    assert [each.number for each in found] == [1, 2, 3, 4, 5]
    assert await told(job_site.root, ask(made, 2)) == found[2:]
    assert await told(job_site.root, ask(made, 5)) == []
    listed = await job_site.root(job_pb2.ListHappeningsRequest(id=made))
    assert list(listed.happenings) == found


async def test_one_that_does_not_follow_ends_at_once(job_site: JobSite) -> None:
    made = await create(job_site, "sleep 1000")
    await running(job_site, made)
    assert [each.what for each in await told(job_site.root, ask(made, follow=False))] == WHOLE[:3]
    await job_site.root(job_pb2.StopJobRequest(id=made, now=True))


async def test_what_happens_is_told_soon(job_site: JobSite) -> None:
    made = await create(job_site, "sleep 1000")
    await running(job_site, made)
    telling = asyncio.create_task(told(job_site.root, ask(made, 3)))
    await job_site.root(job_pb2.StopJobRequest(id=made, now=True))
    async with asyncio.timeout(SOON):
        assert [each.what for each in await telling] == ["stopped", "terminated"]


async def test_who_may_not_see_a_job_is_told_nothing(job_site: JobSite) -> None:
    made = await create(job_site, "true")
    name = await job_site.add_user("nosy")
    nosy = replace(job_site.root, secret=job_site.process.queue.log_in(name, PASSWORD))
    for caller, id_ in ((nosy, made), (job_site.root, "nobody"), (job_site.root, "")):
        with pytest.raises(JobNotFound):
            await told(caller, ask(id_))


async def test_a_program_is_told_each_once_though_the_service_is_killed(job_site: JobSite) -> None:
    made = await create(job_site, "sleep 1.5")
    found: list[str] = []
    async with AsyncPaddleFlow(job_site.connection()) as client:
        async for happening in client.jobs.watch_happenings(made):
            found.append(happening.what)
            if happening.what == "running":
                await asyncio.to_thread(job_site.process.kill)
                await asyncio.to_thread(job_site.process.start)
    assert found == WHOLE
    await over(job_site, made)


def test_programs_with_threads_and_the_command_line_have_the_same(
    job_site: JobSite, tmp_path: Path, plain_environment: None
) -> None:
    with PaddleFlow(job_site.connection()) as client:
        made = client.jobs.wait(client.jobs.create(QUICK).id).id
        assert [each.what for each in client.jobs.watch_happenings(made, after=1)] == WHOLE[1:]
    address = job_site.process.queue.address
    line = CommandLine.configured(tmp_path, address, password=ROOT_PASSWORD, services=job_site.services)
    rows = line.output(f"job events {made} -f -mk 3 -o text").splitlines()
    assert [row.split("\t")[4] for row in rows] == WHOLE[3:]
