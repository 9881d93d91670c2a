"""What the small server of `fake_paddleflow` answers about jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paddleflow.job.v1 import job_pb2 as pb
from paddleflow.job.v1 import log_pb2, spec_pb2
from paddleflow.problems import JobExists, JobNotFound, JobStateConflict
from support.fake_services import BEGAN, World, page

OVER = (pb.JOB_STATE_SUCCEEDED, pb.JOB_STATE_FAILED, pb.JOB_STATE_TERMINATED)


@dataclass
class Jobs:
    world: World

    def CreateJob(self, request: Any) -> Any:  # noqa: N802
        made = pb.Job(spec=request.job.spec, type=request.job.type or pb.JOB_TYPE_SINGLE)
        made.id = made.spec.id or f"job-{len(self.world.jobs) + 1:03}"
        if made.id in self.world.jobs:
            raise JobExists(f"a job {made.id!r} exists; choose another id, or none")
        made.spec.id, made.spec.name = made.id, made.spec.name or made.id
        made.queue = made.spec.scheduling_policy.queue or "default-queue"
        made.MergeFrom(pb.Job(owner=self.world.caller, state=pb.JOB_STATE_INIT, attempt=1, accept_time=BEGAN, etag="1"))
        if not request.validate_only:
            self.world.jobs[made.id] = made
        return pb.CreateJobResponse(job=made)

    def GetJob(self, request: Any) -> Any:  # noqa: N802
        return pb.GetJobResponse(job=self._found(request.id))

    def ListJobs(self, request: Any) -> Any:  # noqa: N802
        chosen = [
            each
            for _, each in sorted(self.world.jobs.items())
            if request.queue in ("", each.queue) and (not request.states or each.state in request.states)
        ]
        items, token = page(chosen, request, lambda each: each.id)
        return pb.ListJobsResponse(jobs=items, next_page_token=token)

    def UpdateJob(self, request: Any) -> Any:  # noqa: N802
        found = self._found(request.id)
        found.spec.labels.update(request.labels)
        for name in request.labels_removed:
            found.spec.labels.pop(name, None)
        found.spec.annotations.update(request.annotations)
        if request.priority:
            found.spec.scheduling_policy.priority = request.priority
        return pb.UpdateJobResponse(job=found)

    def StopJob(self, request: Any) -> Any:  # noqa: N802
        found = self._found(request.id)
        if found.state not in OVER:
            found.MergeFrom(pb.Job(state=pb.JOB_STATE_TERMINATED, message="stopped by root", finish_time=BEGAN))
        return pb.StopJobResponse(job=found)

    def DeleteJob(self, request: Any) -> Any:  # noqa: N802
        if self._found(request.id).state not in OVER:
            raise JobStateConflict(f"job {request.id!r} is not over; stop it, and wait until it is over")
        del self.world.jobs[request.id]
        return pb.DeleteJobResponse()

    def ListTasks(self, request: Any) -> Any:  # noqa: N802
        self._found(request.id)
        return pb.ListTasksResponse(tasks=self.world.tasks.get(request.id, []))

    def ListHappenings(self, request: Any) -> Any:  # noqa: N802
        self._found(request.id)
        later = [each for each in self.world.happenings.get(request.id, []) if each.number > request.after]
        size = request.page_size or 50
        return pb.ListHappeningsResponse(happenings=later[:size], more=len(later) > size)

    def WatchJobs(self, _: Any) -> Any:  # noqa: N802
        raise NotImplementedError("streams are played")

    def _found(self, id_: str) -> pb.Job:
        if (found := self.world.jobs.get(id_)) is None:
            raise JobNotFound(f"no job {id_!r}")
        return found


@dataclass
class Logs:
    world: World

    def ReadLog(self, _: Any) -> Any:  # noqa: N802
        raise NotImplementedError("streams are played")

    def GetLogInfo(self, request: Any) -> Any:  # noqa: N802
        return log_pb2.GetLogInfoResponse(logs=self.world.log_infos.get(request.choice.id, []))


def employ(world: World) -> None:
    """Adds `trained`, a distributed job one of whose two replicas failed, and `waits`, which the queue explains."""
    spec = spec_pb2.JobSpec(id="trained", name="training", command="python train.py", labels={"team": "a"})
    spec.scheduling_policy.queue = "busy"
    spec.framework = spec_pb2.FRAMEWORK_PADDLE
    spec.members.add(role=spec_pb2.ROLE_WORKER, replicas=2)
    trained = pb.Job(id="trained", spec=spec, type=pb.JOB_TYPE_DISTRIBUTED, owner="alice", queue="busy", attempt=1)
    trained.MergeFrom(pb.Job(state=pb.JOB_STATE_FAILED, message="worker 1 ended with exit status 3", cluster="c"))
    trained.MergeFrom(pb.Job(accept_time=BEGAN, start_time=BEGAN, finish_time=BEGAN, etag="7", notes=["no images"]))
    trained.roles.add(role=spec_pb2.ROLE_WORKER, replicas=2, succeeded=1, failed=1)
    world.jobs["trained"] = trained
    world.tasks["trained"] = [_task(0, 0), _task(1, 3)]
    world.happenings["trained"] = [
        _happening(1, "accepted", pb.JOB_STATE_INIT),
        _happening(2, "task-failed", pb.JOB_STATE_RUNNING, message="exit status 3", index=1),
        _happening(3, "ended", pb.JOB_STATE_FAILED),
    ]
    waits = pb.Job(id="waits", spec=spec_pb2.JobSpec(id="waits", name="waits"), owner="root", queue="busy", attempt=1)
    waits.MergeFrom(pb.Job(type=pb.JOB_TYPE_SINGLE, state=pb.JOB_STATE_PENDING, etag="1"))
    waits.roles.add(role=spec_pb2.ROLE_MAIN, replicas=1)
    world.jobs["waits"] = waits


def _task(index: int, status: int) -> pb.Task:
    state = pb.TASK_STATE_FAILED if status else pb.TASK_STATE_SUCCEEDED
    task = pb.Task(job_id="trained", attempt=1, role=spec_pb2.ROLE_WORKER, index=index, state=state, node="here")
    task.MergeFrom(pb.Task(exit_status=status, accelerators=[index], start_time=BEGAN, finish_time=BEGAN))
    return task


def _happening(
    number: int, what: str, state: pb.JobState.ValueType, *, message: str = "", index: int | None = None
) -> pb.Happening:
    told = pb.Happening(number=number, time=BEGAN, attempt=1, state=state, what=what, message=message)
    if index is not None:
        told.role, told.index = spec_pb2.ROLE_WORKER, index
    return told
