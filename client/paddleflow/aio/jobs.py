"""Jobs: what is run, its replicas, and what happened to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from typing import Unpack

from grpc import aio

from paddleflow.aio.pages import every
from paddleflow.aio.resuming import resuming
from paddleflow.aio.session import Session
from paddleflow.aio.watch import watch
from paddleflow.job.v1 import job_pb2, job_pb2_grpc
from paddleflow.models.job_specs import JobSpec
from paddleflow.models.jobs import Happening, Job, JobChanges, JobFilter, JobOwner, JobResult, JobType, Task
from paddleflow.models.pages import Page
from paddleflow.models.watches import Bookmark, Change, ChangeKind, Reset, WatchItem
from paddleflow.problems import JobNotFound
from paddleflow.wire.base import build
from paddleflow.wire.jobs import (
    draft_to_wire,
    happening_from_wire,
    job_changes_from_wire,
    job_from_wire,
    list_request,
    owner_to_wire,
    result_from_wire,
    task_from_wire,
    update_request,
)

LAST_ATTEMPT = 0
ALL_ATTEMPTS = -1


class Jobs:
    """What is run. A job belongs to who made it; those to whom its queue is granted may read it."""

    def __init__(self, session: Session, channel: aio.Channel) -> None:
        self._session = session
        self._stub: job_pb2_grpc.JobServiceAsyncStub = job_pb2_grpc.JobServiceStub(channel)

    async def create(
        self,
        spec: JobSpec,
        *,
        type: JobType = JobType.UNSPECIFIED,  # noqa: A002 -- the word of the contract
        owner: str = "",
        part_of: JobOwner | None = None,
        request_id: str = "",
    ) -> Job:
        """Runs a job; returns it with all defaults filled in. All that is wrong with it is told at once.

        Only root names an owner, and only services say what it is part of.
        """
        request = build(job_pb2.CreateJobRequest, job=draft_to_wire(spec, type, owner), owner=owner_to_wire(part_of))
        reply = await self._session.change(self._stub.CreateJob, request, request_id)
        return job_from_wire(reply.job)

    async def validate(
        self,
        spec: JobSpec,
        *,
        type: JobType = JobType.UNSPECIFIED,  # noqa: A002 -- the word of the contract
        owner: str = "",
    ) -> Job:
        """The job as it would be, with all defaults; raises what `create` would, and runs nothing."""
        request = build(job_pb2.CreateJobRequest, job=draft_to_wire(spec, type, owner), validate_only=True)
        reply = await self._session.change(self._stub.CreateJob, request, "")
        return job_from_wire(reply.job)

    async def create_many(
        self, specs: Iterable[JobSpec], *, owner: str = "", request_id: str = ""
    ) -> Sequence[JobResult]:
        """Runs many jobs, at most 1000 at once; each is taken or refused by itself."""
        drafts = [draft_to_wire(spec, JobType.UNSPECIFIED, owner) for spec in specs]
        request = build(job_pb2.CreateJobsRequest, jobs=drafts)
        reply = await self._session.change(self._stub.CreateJobs, request, request_id)
        return [result_from_wire(result) for result in reply.results]

    async def get(self, id: str) -> Job:  # noqa: A002 -- the word of the contract
        reply = await self._session.call(self._stub.GetJob, build(job_pb2.GetJobRequest, id=id))
        return job_from_wire(reply.job)

    def list(self, **chosen: Unpack[JobFilter]) -> AsyncIterator[Job]:
        """The jobs that the caller may see, newest first; fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    async def page(self, size: int = 0, token: str = "", **chosen: Unpack[JobFilter]) -> Page[Job]:
        """One page of the list: at most `size` jobs (0: as many as the server likes) from the token on."""
        reply = await self._session.call(self._stub.ListJobs, list_request(chosen, size, token))
        return Page([job_from_wire(job) for job in reply.jobs], reply.next_page_token)

    async def update(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        *,
        etag: str = "",
        request_id: str = "",
        **changes: Unpack[JobChanges],
    ) -> Job:
        """Changes the fields given; with an etag only if the job has not changed since."""
        reply = await self._session.change(self._stub.UpdateJob, update_request(id, changes, etag), request_id)
        return job_from_wire(reply.job)

    async def stop(self, id: str, *, now: bool = False, request_id: str = "") -> Job:  # noqa: A002 -- as above
        """Ends a job; its replicas have their time of grace, or none with `now`. One that is over stays as it is."""
        request = build(job_pb2.StopJobRequest, id=id, now=now)
        reply = await self._session.change(self._stub.StopJob, request, request_id)
        return job_from_wire(reply.job)

    async def delete(self, id: str, *, etag: str = "", request_id: str = "") -> None:  # noqa: A002 -- as above
        """Forgets a job that is over, with its tasks, happenings and logs."""
        request = build(job_pb2.DeleteJobRequest, id=id, etag=etag)
        await self._session.change(self._stub.DeleteJob, request, request_id)

    def tasks(self, id: str, *, attempt: int = LAST_ATTEMPT) -> AsyncIterator[Task]:  # noqa: A002 -- as above
        """The replicas of an attempt, or of all (-1), by attempt, role and index; fetches page after page."""
        return every(lambda size, token: self.task_page(id, size, token, attempt=attempt))

    async def task_page(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        size: int = 0,
        token: str = "",
        *,
        attempt: int = LAST_ATTEMPT,
    ) -> Page[Task]:
        """One page of the replicas: at most `size` (0: as many as the server likes) from the token on."""
        request = build(job_pb2.ListTasksRequest, id=id, attempt=attempt, page_size=size, page_token=token)
        reply = await self._session.call(self._stub.ListTasks, request)
        return Page([task_from_wire(task) for task in reply.tasks], reply.next_page_token)

    def happenings(self, id: str, *, after: int = 0) -> AsyncIterator[Happening]:  # noqa: A002 -- as above
        """What happened to a job, after the happening of this number, oldest first; fetches page after page."""
        return every(lambda size, token: self.happening_page(id, size, after=int(token or after)))

    async def happening_page(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        size: int = 0,
        *,
        after: int = 0,
    ) -> Page[Happening]:
        """At most `size` happenings (0: as many as the server likes) after the one of this number.

        The token of the page is the number after which the next one begins.
        """
        request = build(job_pb2.ListHappeningsRequest, id=id, after=after, page_size=size)
        reply = await self._session.call(self._stub.ListHappenings, request)
        return Page(
            [happening_from_wire(each) for each in reply.happenings],
            str(reply.happenings[-1].number) if reply.more else "",
        )

    async def watch_happenings(self, id: str, *, after: int = 0) -> AsyncIterator[Happening]:  # noqa: A002 -- as above
        """What happened to a job after the happening of this number, and what happens, until the job is over.

        When the stream breaks it goes on by itself, behind the last happening that was told.
        """
        request = build(job_pb2.WatchHappeningsRequest, id=id, after=after, follow=True)

        def begin() -> AsyncGenerator[job_pb2.WatchHappeningsResponse, None]:
            return self._session.stream(self._stub.WatchHappenings, request)

        async with aclosing(resuming(self._session, begin)) as messages:
            async for message in messages:
                for happening in message.happenings:
                    request.after = happening.number
                    yield happening_from_wire(happening)

    def watch(
        self,
        *,
        queue: str = "",
        id: str = "",  # noqa: A002 -- the word of the contract
        resume_token: str = "",
    ) -> AsyncIterator[WatchItem[Job]]:
        """The jobs that are not over, then what happens to all, for ever; resumes by itself when the stream breaks."""
        request = build(job_pb2.WatchJobsRequest, queue=queue, id=id, resume_token=resume_token)
        return watch(self._session, self._stub.WatchJobs, request, job_changes_from_wire)

    async def follow(self, id: str) -> AsyncIterator[Job]:  # noqa: A002 -- as above
        """The job as it is, then after each change, until it is over. Raises JobNotFound, also if it is deleted."""
        seen = False
        async for item in self.watch(id=id):
            match item:
                case Change(ChangeKind.DELETED, _):
                    raise JobNotFound(f"job {id!r} was deleted")
                case Change(_, job):
                    seen = True
                    yield job
                    if job.state.over:
                        return
                case Bookmark(_, caught_up=True) if not seen:
                    raise JobNotFound(f"no job {id!r}")
                case Reset():
                    seen = False

    async def wait(self, id: str) -> Job:  # noqa: A002 -- as above
        """The job, once it is over. Raises JobNotFound, also if it is deleted meanwhile."""
        async for job in self.follow(id):
            if job.state.over:
                return job
        raise JobNotFound(f"no job {id!r}")
