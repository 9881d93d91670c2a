"""A watch of jobs tells each change once and in order, also to whoever goes on with it later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from fixtures_jobs import JobSite
from paddleflow.common.v1 import event_pb2
from paddleflow.job.v1 import job_pb2
from paddleflow.problems import InvalidArgument, JobStateConflict, ResumeTokenInvalid
from support.job_logs import create, over, running

EXISTING, CREATED, DELETED = (
    event_pb2.CHANGE_KIND_EXISTING,
    event_pb2.CHANGE_KIND_CREATED,
    event_pb2.CHANGE_KIND_DELETED,
)


class Watch:
    """Reads a stream, and keeps its last token."""

    def __init__(self, messages: AsyncGenerator[Any, None]) -> None:
        self.messages = messages
        self.told: list[job_pb2.JobEvent] = []
        self.token = ""

    async def until(self, state: job_pb2.JobState.ValueType) -> None:
        """Reads until a job is in a state."""
        while not self.told or self.told[-1].job.state != state:
            await self.read()

    async def read(self) -> None:
        message = await anext(self.messages)
        self.told += message.events
        self.token = message.resume_token or self.token


async def test_a_watch_goes_on_where_it_was_though_the_service_was_killed(job_site: JobSite) -> None:
    made = await create(job_site, "sleep 1")
    await running(job_site, made)
    async with aclosing(job_site.root.watch(job_pb2.WatchJobsRequest(id=made))) as messages:
        first = Watch(messages)
        await first.until(job_pb2.JOB_STATE_RUNNING)
    await asyncio.to_thread(job_site.process.kill)
    await asyncio.to_thread(job_site.process.start)
    await over(job_site, made)
    request = job_pb2.WatchJobsRequest(id=made, resume_token=first.token)
    async with aclosing(job_site.root.watch(request)) as messages:
        second = Watch(messages)
        await second.until(job_pb2.JOB_STATE_SUCCEEDED)
    told = [*first.told, *second.told]
    assert told[0].kind == EXISTING
    versions = [event.job.version for event in told]
    assert versions == sorted(set(versions))
    assert len({event.job.SerializeToString() for event in told}) == len(told)


async def test_a_watch_tells_of_new_jobs_and_of_those_that_are_forgotten(job_site: JobSite) -> None:
    async with aclosing(job_site.root.watch(job_pb2.WatchJobsRequest())) as messages:
        watch = Watch(messages)
        while not watch.token:
            await watch.read()
        watch.told.clear()
        made = await over(job_site, await create(job_site, "true"))
        await watch.until(job_pb2.JOB_STATE_SUCCEEDED)
        await forgotten(job_site, made)
        while watch.told[-1].kind != DELETED:
            await watch.read()
    kinds = [event.kind for event in watch.told if event.job.id == made]
    assert (kinds[0], kinds[-1]) == (CREATED, DELETED)


async def forgotten(site: JobSite, id_: str) -> None:
    async with asyncio.timeout(10):
        while True:
            try:
                await site.root(job_pb2.DeleteJobRequest(id=id_))
                return
            except JobStateConflict:
                await asyncio.sleep(0.02)


async def test_tokens_and_filters_that_are_none_are_refused(job_site: JobSite) -> None:
    for request, problem in (
        (job_pb2.WatchJobsRequest(resume_token="nonsense"), ResumeTokenInvalid),
        (job_pb2.WatchJobsRequest(queue="nul\0"), InvalidArgument),
    ):
        async with aclosing(job_site.root.watch(request)) as messages:
            with pytest.raises(problem):
                await anext(messages)
