"""Commands of notices, by JobService."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpc import aio

from paddleflow.job.v1 import job_pb2, spec_pb2
from paddleflow.job.v1.job_pb2_grpc import JobServiceStub
from paddleflow.problems import Problem
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
    """Fulfils `Commands`. A notice has one job: the notice is what the job is part of.

    Its id is any: one that somebody can foretell, somebody can take, and the command would never run.
    """

    def __init__(self, channel: aio.Channel, metadata: Metadata, users: Users) -> None:
        self._jobs: JobServiceAsyncStub = JobServiceStub(channel)
        self._metadata = metadata
        self._users = users

    async def begin(self, notice: Notice) -> None:
        request = job_pb2.CreateJobRequest(job=job_pb2.Job(spec=job_of(notice)), owner=owner_of(notice))
        metadata = behalf(self._metadata, notice.owner)
        try:
            await require_there(self._users, notice.whose)
            await call(self._jobs.CreateJob, request, job_pb2.CreateJobResponse, metadata, ANSWER_SECONDS)
        except LASTING as problem:
            raise Refused(f"no job can be made for the command: {problem}") from None
        except Problem as problem:
            raise NoAnswer(f"no job can be made for the command now: {problem}") from None


def job_of(notice: Notice) -> spec_pb2.JobSpec:
    """The job that runs a command. It starts in the main filesystem of the run, if that has one."""
    spec = spec_pb2.JobSpec(name=f"notice-{notice.id}", command=notice.target)
    spec.env.update({"PF_NOTICE": notice.body, "PF_RUN_ID": notice.run})
    if notice.filesystem:
        spec.fs.id = notice.filesystem
    return spec


def owner_of(notice: Notice) -> job_pb2.JobOwner:
    """What the job is part of. Nobody takes notices over, so they have no epochs."""
    owner = job_pb2.JobOwner(key=f"notice/{notice.id}", scope="notices", epoch=0)
    owner.user_since.FromDatetime(notice.owner_since)
    return owner
