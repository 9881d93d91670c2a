"""Jobs, by JobService."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING

from grpc import aio

from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.job.v1.job_pb2_grpc import JobServiceStub
from paddleflow.jobs.documents import read_spec
from paddleflow.problems import InvalidArgument, Problem, Unavailable
from paddleflow.status import problem_of, refused
from pf_pipeline.documents.model import Mount
from pf_pipeline.engine.core.happening import JobState
from pf_pipeline.engine.core.words import Turn
from pf_pipeline.engine.executors.jobs import JobView, Listed
from pf_pipeline.engine.ports import End, Start
from pf_pipeline.engine.speaking import words_of
from pf_pipeline.owners import Owner
from pf_pipeline.peers_grpc.calls import Metadata, behalf, call

if TYPE_CHECKING:
    from paddleflow.job.v1.job_pb2_grpc import JobServiceAsyncStub

ANSWER_SECONDS = 30.0
"""How long the service may take for many jobs."""
STATES: Mapping[int, JobState] = {
    job_pb2.JOB_STATE_RUNNING: JobState.RUNNING,
    job_pb2.JOB_STATE_SUCCEEDED: JobState.SUCCEEDED,
    job_pb2.JOB_STATE_FAILED: JobState.FAILED,
    job_pb2.JOB_STATE_TERMINATED: JobState.TERMINATED,
    job_pb2.JOB_STATE_PREEMPTED: JobState.TERMINATED,
    job_pb2.JOB_STATE_CANCELLED: JobState.TERMINATED,
    job_pb2.JOB_STATE_SKIPPED: JobState.TERMINATED,
}
"""All others wait, or are about to wait or to end."""
RUN, STEP = "paddleflow/run", "paddleflow/step"
"""Labels of jobs."""


class RemoteJobs:
    """Fulfils `Jobs`."""

    def __init__(self, channel: aio.Channel, metadata: Metadata) -> None:
        self._jobs: JobServiceAsyncStub = JobServiceStub(channel)
        self._metadata = metadata

    async def create(self, owner: Owner, steps: Sequence[Start]) -> Sequence[JobView | Problem]:
        request = job_pb2.CreateJobsRequest()
        wrong: dict[int, Problem] = {}
        for at, step in enumerate(steps):
            try:
                spec = spec_of(step)
            except InvalidArgument as problem:
                wrong[at] = problem
                continue
            request.jobs.add(spec=spec)
            request.owners.append(owner_of(step))
        metadata = behalf(self._metadata, owner.name)
        results: Sequence[job_pb2.JobResult] = ()
        if request.jobs:
            reply = await call(self._jobs.CreateJobs, request, job_pb2.CreateJobsResponse, metadata, ANSWER_SECONDS)
            results = reply.results
        answers = iter(results)
        return [wrong[at] if at in wrong else answer_of(next(answers)) for at in range(len(steps))]

    async def stop(self, step: End) -> None:
        metadata = behalf(self._metadata, step.run.owner)
        halt = step.halt
        owner = job_pb2.JobOwner(key=key_of(step.run.id, halt.path, halt.attempt), scope=step.run.id, epoch=step.epoch)
        request = job_pb2.StopJobRequest(id=halt.job, owner=owner)
        await call(self._jobs.StopJob, request, job_pb2.StopJobResponse, metadata, ANSWER_SECONDS)

    async def get(self, id_: str) -> JobView:
        request = job_pb2.GetJobRequest(id=id_)
        reply = await call(self._jobs.GetJob, request, job_pb2.GetJobResponse, self._metadata(), ANSWER_SECONDS)
        return view_of(reply.job)

    async def exit_status(self, id_: str) -> int | None:
        request = job_pb2.ListTasksRequest(id=id_, page_size=1000)
        metadata = self._metadata()
        reply = await call(self._jobs.ListTasks, request, job_pb2.ListTasksResponse, metadata, ANSWER_SECONDS)
        failed = [task for task in reply.tasks if task.state == job_pb2.TASK_STATE_FAILED]
        return next((task.exit_status for task in failed if task.HasField("exit_status")), None)

    async def watch(self) -> AsyncIterator[JobView | Listed]:
        request = job_pb2.WatchJobsRequest()
        stream = self._jobs.WatchJobs(request, metadata=self._metadata())
        try:
            async for reply in stream:
                for event in reply.events:
                    yield view_of(event.job)
                if reply.bookmark:
                    yield Listed()
        except aio.AioRpcError as error:
            raise problem_of(error) from None
        finally:
            stream.cancel()


def spec_of(step: Start) -> spec_pb2.JobSpec:
    """The job of a step. Raises InvalidArgument if what its document says of the job is none."""
    run, node, planned = step.run, step.launch.node, step.launch.planned
    work = node.work
    spec = read_spec(json.dumps(work.job)) if work.job else spec_pb2.JobSpec()
    words = words_of(run, step.plan)
    turn = Turn(step.launch.runtime_name, node.iteration, work.loop_argument)
    spec.id, spec.name = node.job, node.job_name
    spec.labels.update({RUN: run.id, STEP: node.name})
    spec.command = work.command or spec.command
    spec.image = work.docker_env or spec.image
    spec.env.update(work.env)
    spec.env.update(words.injected(planned, turn, work))
    if step.plan.main_fs is not None and not spec.HasField("fs"):
        spec.fs.CopyFrom(_mount(step.plan.main_fs, run.order.mounts))
    spec.extra_fs.extend(_mount(mount, run.order.mounts) for mount in planned.extra_fs)
    if planned.timeout is not None:
        spec.limits.run.FromTimedelta(planned.timeout)
    if planned.pending_timeout is not None:
        spec.limits.pending.FromTimedelta(planned.pending_timeout)
    return spec


def owner_of(step: Start) -> job_pb2.JobOwner:
    """What a job is part of: the same for each try, and for whoever asks."""
    node = step.launch.node
    owner = job_pb2.JobOwner(key=key_of(node.run, node.path, node.attempt), scope=node.run, epoch=step.epoch)
    owner.user_since.FromDatetime(step.run.owner_since)
    return owner


def key_of(run: str, path: str, attempt: int) -> str:
    return f"{run}/{path}/{attempt}"


def view_of(job: job_pb2.Job) -> JobView:
    return JobView(job.id, STATES.get(job.state, JobState.PENDING), job.message)


def answer_of(result: job_pb2.JobResult) -> JobView | Problem:
    """A job, or why there is none. What passes is raised: it is to be asked again."""
    if not result.reason:
        return view_of(result.job)
    problem = refused(result.code, result.reason, result.message, {})
    if isinstance(problem, Unavailable):
        raise problem
    return problem


def _mount(mount: Mount, ids: Mapping[str, str]) -> spec_pb2.FilesystemMount:
    return spec_pb2.FilesystemMount(
        id=ids.get(mount.name, ""),
        mount_path=mount.mount_path,
        sub_path=mount.sub_path,
        read_only=mount.read_only,
    )
