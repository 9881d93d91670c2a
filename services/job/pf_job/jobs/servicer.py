"""JobService on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from paddleflow.job.v1 import job_pb2, job_pb2_grpc
from paddleflow.problems import Problem, UserNotFound
from pf_job.jobs.convert import (
    draft_of,
    drafts_of,
    edit_of,
    happening_message,
    job_filter,
    job_message,
    part_of,
    refused,
    taken,
    task_message,
)
from pf_job.jobs.domain import Job, Owner, Part
from pf_job.jobs.following import Following
from pf_job.jobs.owing import Owing
from pf_job.jobs.ports import LASTING
from pf_job.jobs.service import Jobs, Wanted
from pf_job.jobs.states import Stage
from pf_job.jobs.store import JobStore, job_lock, scope_lock
from pf_job.jobs.taking import Draft, Taking
from pf_job.jobs.watching import Tellers
from pf_kit.call import current_call
from pf_kit.clock import Clock
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.page import page_size
from pf_kit.principal import Principal
from pf_kit.turns import by_turns
from pf_kit.unit import Change, Database, View
from pf_kit.watch import Watches


class JobServicer(job_pb2_grpc.JobServiceServicer):
    """Runs jobs."""

    def __init__(
        self,
        *,
        database: Database,
        mutations: Mutations,
        lists: Lists,
        watches: Watches,
        tellers: Tellers,
        store: JobStore,
        jobs: Jobs,
        following: Following,
        taking: Taking,
        owing: Owing,
        clock: Clock,
    ) -> None:
        self._database = database
        self._mutations = mutations
        self._lists = lists
        self._watches = watches
        self._tellers = tellers
        self._store = store
        self._jobs = jobs
        self._following = following
        self._taking = taking
        self._owing = owing
        self._clock = clock

    async def CreateJob(self, request: job_pb2.CreateJobRequest, _context: object) -> job_pb2.CreateJobResponse:
        caller = current_call().principal
        draft = draft_of(request.job, part_of(request.owner, caller))
        if request.validate_only:
            owner = await self._taking.owner(caller, draft.owner)
            valid = await self._taking.job(caller, draft, owner, self._clock.now())
            return job_pb2.CreateJobResponse(job=job_message(valid))
        wanted = await self._wanted(caller, draft, await self._owner(caller, draft.owner))

        async def work(change: Change) -> job_pb2.CreateJobResponse:
            # Only now: if the request was answered before, that is the answer, whatever is in the way by now.
            (made,) = await self._jobs.create_all(change, [wanted])
            return job_pb2.CreateJobResponse(job=job_message(_taken(made)))

        reply = await self._mutations.run(
            request,
            job_pb2.CreateJobResponse,
            locks=_locks([wanted]),
            subject=f"job/{_id(wanted.job)}",
            work=work,
        )
        self._owing.note([Stage.SUBMIT])
        return reply

    async def CreateJobs(self, request: job_pb2.CreateJobsRequest, _context: object) -> job_pb2.CreateJobsResponse:
        caller = current_call().principal
        drafts = drafts_of(request, caller)
        owners = {name: await self._owner(caller, name) for name in sorted({draft.owner for draft in drafts})}
        wanted = [await self._wanted(caller, draft, owners[draft.owner]) async for draft in by_turns(drafts)]

        async def work(change: Change) -> job_pb2.CreateJobsResponse:
            made = await self._jobs.create_all(change, wanted)
            results = [refused(job) if isinstance(job, Problem) else taken(job) async for job in by_turns(made)]
            return job_pb2.CreateJobsResponse(results=results)

        reply = await self._mutations.run(
            request,
            job_pb2.CreateJobsResponse,
            locks=_locks(wanted),
            subject=f"jobs/{sum(isinstance(each.job, Job) for each in wanted)}",
            work=work,
        )
        self._owing.note([Stage.SUBMIT])
        return reply

    async def GetJob(self, request: job_pb2.GetJobRequest, _context: object) -> job_pb2.GetJobResponse:
        view = self._database.newest
        job = await self._jobs.get(view, current_call().principal, request.id)
        (message,) = await self._whole(view, [job])
        return job_pb2.GetJobResponse(job=message)

    async def ListJobs(self, request: job_pb2.ListJobsRequest, _context: object) -> job_pb2.ListJobsResponse:
        view, caller, chosen = self._database.newest, current_call().principal, job_filter(request)
        page = await self._lists.page(
            request,
            lambda after, limit: self._jobs.page(view, caller, chosen, int(after or 0), limit),
            lambda job: str(job.number),
        )
        return job_pb2.ListJobsResponse(jobs=await self._whole(view, page.things), next_page_token=page.next_token)

    async def WatchJobs(
        self, request: job_pb2.WatchJobsRequest, _context: object
    ) -> AsyncIterator[job_pb2.WatchJobsResponse]:
        teller = self._tellers.teller(current_call().principal, request)
        async for page in self._watches.watch(request.resume_token, existing=teller.existing, changes=teller.changes):
            yield job_pb2.WatchJobsResponse(
                events=page.messages, resume_token=page.resume_token, bookmark=page.bookmark
            )

    async def UpdateJob(self, request: job_pb2.UpdateJobRequest, _context: object) -> job_pb2.UpdateJobResponse:
        caller, edit = current_call().principal, edit_of(request)
        await self._jobs.require_own(self._database.newest, caller, request.id)

        async def work(change: Change) -> job_pb2.UpdateJobResponse:
            job = await self._jobs.update(change, caller, request.id, edit, request.etag)
            return job_pb2.UpdateJobResponse(job=job_message(job))

        return await self._mutations.run(
            request,
            job_pb2.UpdateJobResponse,
            locks=(job_lock(request.id),),
            subject=f"job/{request.id}",
            work=work,
        )

    async def StopJob(self, request: job_pb2.StopJobRequest, _context: object) -> job_pb2.StopJobResponse:
        caller = current_call().principal
        if part := part_of(request.owner, caller):
            await self._take_over(part)
        await self._jobs.require_own(self._database.newest, caller, request.id)

        async def work(change: Change) -> job_pb2.StopJobResponse:
            job = await self._jobs.stop(change, caller, request.id, now=request.now)
            return job_pb2.StopJobResponse(job=job_message(job))

        return await self._mutations.run(
            request, job_pb2.StopJobResponse, locks=(job_lock(request.id),), subject=f"job/{request.id}", work=work
        )

    async def DeleteJob(self, request: job_pb2.DeleteJobRequest, _context: object) -> job_pb2.DeleteJobResponse:
        caller = current_call().principal
        await self._jobs.require_own(self._database.newest, caller, request.id)

        async def work(change: Change) -> job_pb2.DeleteJobResponse:
            await self._jobs.delete(change, caller, request.id, request.etag)
            return job_pb2.DeleteJobResponse()

        return await self._mutations.run(
            request, job_pb2.DeleteJobResponse, locks=(job_lock(request.id),), subject=f"job/{request.id}", work=work
        )

    async def ListTasks(self, request: job_pb2.ListTasksRequest, _context: object) -> job_pb2.ListTasksResponse:
        view, caller = self._database.newest, current_call().principal
        tasks = await self._jobs.tasks(view, caller, request.id, request.attempt)

        async def fetch(after: str, limit: int) -> Sequence[tuple[int, job_pb2.Task]]:
            begin = int(after or 0)
            return [(begin + n + 1, task_message(task)) for n, task in enumerate(tasks[begin : begin + limit])]

        page = await self._lists.page(request, fetch, lambda numbered: str(numbered[0]))
        return job_pb2.ListTasksResponse(tasks=[message for _, message in page.things], next_page_token=page.next_token)

    async def ListHappenings(
        self, request: job_pb2.ListHappeningsRequest, _context: object
    ) -> job_pb2.ListHappeningsResponse:
        view, caller, size = self._database.newest, current_call().principal, page_size(request.page_size)
        found = await self._jobs.happenings(view, caller, request.id, request.after, size + 1)
        return job_pb2.ListHappeningsResponse(happenings=map(happening_message, found[:size]), more=len(found) > size)

    async def WatchHappenings(
        self, request: job_pb2.WatchHappeningsRequest, _context: object
    ) -> AsyncIterator[job_pb2.WatchHappeningsResponse]:
        caller = current_call().principal
        found = self._following.happenings(caller, request.id, request.after, follow=request.follow)
        async for happenings in found:
            yield job_pb2.WatchHappeningsResponse(happenings=map(happening_message, happenings))

    async def _take_over(self, part: Part) -> None:
        """Notes an epoch in a commit of its own: also of a job that was never made, which nobody may make then."""
        async with self._database.change(scope_lock(part.scope)) as change:
            await self._jobs.take_over(change, part)

    async def _owner(self, caller: Principal, name: str) -> Owner | Problem:
        """Whose a job is to be, or why it cannot be. Raises why that is not known."""
        try:
            return await self._taking.owner(caller, name)
        except LASTING as problem:
            return problem

    async def _wanted(self, caller: Principal, draft: Draft, owner: Owner | Problem) -> Wanted:
        owner = _of_its_user(draft.part, owner)
        if isinstance(owner, Problem):
            return Wanted(owner, draft.part)
        return Wanted(await self._ready(caller, draft, owner), draft.part, owner)

    async def _ready(self, caller: Principal, draft: Draft, owner: Owner) -> Job | Problem:
        """A job that can be kept, or why it cannot be taken. Raises why that is not known."""
        try:
            return await self._taking.job(caller, draft, owner, self._clock.now())
        except LASTING as problem:
            return problem

    async def _whole(self, view: View, jobs: Sequence[Job]) -> Sequence[job_pb2.Job]:
        """The messages of jobs, with how their replicas stand."""
        counts = await self._store.counts(view, [job.id for job in jobs])
        return [job_message(job, counts.get(job.id, {})) for job in jobs]


def _of_its_user(part: Part | None, owner: Owner | Problem) -> Owner | Problem:
    """The owner, unless it has the name only since the one was deleted in whose name the job is to be made."""
    if part is None or part.user_since is None or isinstance(owner, Problem):
        return owner
    if Owner(owner.name, part.user_since).is_of(owner):
        return owner
    return UserNotFound(f"the user {owner.name!r} has been deleted, and another one has the name now")


def _taken(job: Job | Problem) -> Job:
    """The job. Raises why it cannot be taken."""
    if isinstance(job, Problem):
        raise job
    return job


def _id(job: Job | Problem) -> str:
    return job.id if isinstance(job, Job) else ""


def _locks(wanted: Sequence[Wanted]) -> Sequence[str]:
    """What is held by the change that makes jobs."""
    ids = [job_lock(each.job.id) for each in wanted if isinstance(each.job, Job)]
    return [*ids, *sorted({scope_lock(each.part.scope) for each in wanted if each.part})]
