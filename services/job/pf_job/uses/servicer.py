"""FilesystemUseService on the wire: which jobs use a filesystem."""

from __future__ import annotations

from collections.abc import AsyncIterator

from paddleflow.fs.v1 import use_pb2 as pb
from paddleflow.fs.v1 import use_pb2_grpc
from paddleflow.problems import InvalidArgument, Violation
from pf_job.jobs.domain import Job
from pf_job.jobs.states import WITHOUT, Stage
from pf_job.jobs.store import JobStore
from pf_kit.unit import Database, View

MOST = 10
"""That are named."""
BATCH = 200
WITH_REPLICAS = [stage for stage in Stage if stage not in WITHOUT]


class UseServicer(use_pb2_grpc.FilesystemUseServiceServicer):
    """Looks through the jobs that have replicas."""

    def __init__(self, *, database: Database, store: JobStore) -> None:
        self._database = database
        self._store = store

    async def ListFilesystemUses(
        self, request: pb.ListFilesystemUsesRequest, _context: object
    ) -> pb.ListFilesystemUsesResponse:
        if not request.filesystem_id:
            raise InvalidArgument.of(Violation("filesystem_id", "must be given"))
        found: list[pb.FilesystemUse] = []
        async for job in self._running(self._database.newest):
            if uses(job, request.filesystem_id):
                found.append(pb.FilesystemUse(kind=pb.FILESYSTEM_USER_JOB, id=job.id, owner=job.owner))
                if len(found) == MOST:
                    break
        return pb.ListFilesystemUsesResponse(uses=found)

    async def _running(self, view: View) -> AsyncIterator[Job]:
        last = ""
        while jobs := await self._store.unfinished(view, WITH_REPLICAS, last, BATCH):
            for job in jobs:
                yield job
            last = jobs[-1].id


def uses(job: Job, filesystem_id: str) -> bool:
    """Whether one of its roles sees the filesystem."""
    return any(mount.id == filesystem_id for member in job.spec.crew for mount in member.work.mounts)
