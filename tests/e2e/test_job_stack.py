"""Jobs in an installation as a user gets it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc

from paddleflow.job.v1 import job_pb2, job_pb2_grpc, spec_pb2
from pf_stack.endpoints import read_endpoints
from support.servers import short_folder
from support.stacks import Stack, new_stack, processes_of, wait_until

PATIENCE = 40.0
ENDED = frozenset({job_pb2.JOB_STATE_SUCCEEDED, job_pb2.JOB_STATE_FAILED, job_pb2.JOB_STATE_TERMINATED})


@dataclass(frozen=True)
class Jobs:
    """The job service of a stack, as root calls it."""

    stub: Any
    secret: str

    def create(self, command: str) -> str:
        draft = job_pb2.Job(spec=spec_pb2.JobSpec(command=command))
        return str(self._call(self.stub.CreateJob, job_pb2.CreateJobRequest(job=draft)).job.id)

    def until(self, id_: str, is_so: Callable[[job_pb2.Job], bool]) -> job_pb2.Job:
        deadline = time.monotonic() + PATIENCE
        while not is_so(job := self._call(self.stub.GetJob, job_pb2.GetJobRequest(id=id_)).job):
            assert time.monotonic() < deadline, job
            time.sleep(0.02)
        return job  # type: ignore[no-any-return]  # what grpc returns has no type

    def over(self, id_: str) -> job_pb2.JobState.ValueType:
        return self.until(id_, lambda job: job.state in ENDED).state

    def running(self, id_: str) -> job_pb2.Job:
        return self.until(id_, lambda job: job.state == job_pb2.JOB_STATE_RUNNING)

    def stop(self, id_: str) -> None:
        self._call(self.stub.StopJob, job_pb2.StopJobRequest(id=id_, now=True))

    def _call(self, method: Any, request: object) -> Any:
        return method(request, metadata=(("authorization", f"Bearer {self.secret}"),), timeout=20)


@contextmanager
def jobs_of(stack: Stack) -> Iterator[Jobs]:
    with stack.connect() as client:
        secret = client.tokens.create("test").secret
    with grpc.insecure_channel(read_endpoints(stack.layout)["job"].target) as channel:
        yield Jobs(job_pb2_grpc.JobServiceStub(channel), secret)


def test_no_job_sees_the_installation(stack: Stack) -> None:
    with jobs_of(stack) as jobs:
        seen = jobs.create(f"test -z \"$(ls -A '{stack.data}' '{stack.layout.sockets}' 2>/dev/null | grep -v ':$')\"")
        assert jobs.over(seen) == job_pb2.JOB_STATE_SUCCEEDED


def test_jobs_go_on_when_the_service_is_killed(stack: Stack) -> None:
    with jobs_of(stack) as jobs:
        made = jobs.create("sleep 2")
        jobs.running(made)
        before = stack.pid("job")
        stack.kill("job")
        wait_until(lambda: stack.status()["ready"] and stack.pid("job") != before)
    with jobs_of(stack) as jobs:
        assert jobs.over(made) == job_pb2.JOB_STATE_SUCCEEDED


def test_jobs_outlive_the_supervisor_and_are_found_again(stack: Stack) -> None:
    with jobs_of(stack) as jobs:
        made = jobs.create("sleep 5; exit 3")
        begun = jobs.running(made).start_time
    stack.kill("supervisor")
    stack.pf("up")
    with jobs_of(stack) as jobs:
        over = jobs.until(made, lambda job: job.state in ENDED)
        assert (over.state, over.attempt, over.start_time) == (job_pb2.JOB_STATE_FAILED, 1, begun)
        assert "exit status 3" in over.message


def test_jobs_are_backed_up_and_restored(stack: Stack) -> None:
    folder = short_folder()
    file = folder / "backup.tar"
    with jobs_of(stack) as jobs:
        kept = jobs.create("true")
        jobs.over(kept)
    stack.pf("backup", str(file))
    with new_stack() as other:
        other.pf("restore", str(file), "--data", str(other.data))
        other.pf("up")
        with jobs_of(other) as jobs:
            assert jobs.over(kept) == job_pb2.JOB_STATE_SUCCEEDED
    file.unlink()
    folder.rmdir()


def test_no_process_is_left_when_no_job_runs() -> None:
    with new_stack() as stack:
        stack.pf("up")
        with jobs_of(stack) as jobs:
            jobs.over(jobs.create("true"))
        stack.pf("down")
        assert not list(processes_of(stack.data))


def test_a_job_that_runs_goes_on_without_the_stack_and_is_found_again() -> None:
    with new_stack() as stack:
        stack.pf("up")
        with jobs_of(stack) as jobs:
            made = jobs.create("sleep 1000")
            jobs.running(made)
        stack.pf("down")
        assert list(processes_of(stack.data)), "neither the job nor its runner is left"
        stack.pf("up")
        with jobs_of(stack) as jobs:
            assert jobs.running(made).attempt == 1
            jobs.stop(made)
            assert jobs.over(made) == job_pb2.JOB_STATE_TERMINATED
