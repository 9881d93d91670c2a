"""Commands of notices, by JobService."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpc import aio

from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.job.v1.job_pb2_grpc import JobServiceStub
from paddleflow.problems import JobExists, Problem
from pf_pipeline.engine.trying import LASTING
from pf_pipeline.notices.domain import Notice
from pf_pipeline.notices.ports import NoAnswer, Refused
from pf_pipeline.owners import Users
from pf_pipeline.peers_grpc.calls import Metadata, behalf, call
from pf_pipeline.peers_grpc.users import require_there

if TYPE_CHECKING:
    from paddleflow.job.v1.job_pb2_grpc import JobServiceAsyncStub

ANSWER_SECONDS = 15.0
"""How long the service may take."""


class RemoteCommands:
    """Fulfils `Commands`. A notice has one job: its id is made of the notice's."""

    def __init__(self, channel: aio.Channel, metadata: Metadata, users: Users) -> None:
        self._jobs: JobServiceAsyncStub = JobServiceStub(channel)
        self._metadata = metadata
        self._users = users

    async def begin(self, notice: Notice) -> None:
        request = job_pb2.CreateJobRequest(job=job_pb2.Job(spec=job_of(notice)))
        metadata = behalf(self._metadata, notice.owner)
        try:
            await require_there(self._users, notice.whose)
            await call(self._jobs.CreateJob, request, job_pb2.CreateJobResponse, metadata, ANSWER_SECONDS)
        except JobExists:
            # It was made before, and only nobody noted it.
            return
        except LASTING as problem:
            raise Refused(f"no job can be made for the command: {problem}") from None
        except Problem as problem:
            raise NoAnswer(f"no job can be made for the command now: {problem}") from None


def job_of(notice: Notice) -> spec_pb2.JobSpec:
    """The job that runs a command. It starts in the main filesystem of the run, if that has one."""
    spec = spec_pb2.JobSpec(id=f"notice-{notice.id}", name=f"notice-{notice.id}", command=notice.target)
    spec.env.update({"PF_NOTICE": notice.body, "PF_RUN_ID": notice.run})
    if notice.filesystem:
        spec.fs.id = notice.filesystem
    return spec
