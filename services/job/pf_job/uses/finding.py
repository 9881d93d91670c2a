"""Which jobs use a filesystem."""

from __future__ import annotations

from collections.abc import AsyncIterator

from paddleflow.fs.v1 import use_pb2 as pb
from pf_job.jobs.domain import Job
from pf_job.jobs.states import FINAL, WITHOUT, Stage
from pf_job.jobs.store import JobStore
from pf_kit.unit import Database

BATCH = 200
NOT_OVER = [stage for stage in Stage if stage is not Stage.OVER]


class JobUses:
    """Looks through the jobs that have replicas, or are to have some."""

    def __init__(self, *, database: Database, store: JobStore) -> None:
        self._database = database
        self._store = store

    async def of(self, filesystem_id: str) -> AsyncIterator[pb.FilesystemUse]:
        async for job in self._unfinished():
            if uses(job, filesystem_id):
                yield pb.FilesystemUse(kind=pb.FILESYSTEM_USER_JOB, id=job.id, owner=job.owner)

    async def _unfinished(self) -> AsyncIterator[Job]:
        view, last = self._database.newest, ""
        while jobs := await self._store.unfinished(view, NOT_OVER, last, BATCH):
            for job in jobs:
                yield job
            last = jobs[-1].id


def uses(job: Job, filesystem_id: str) -> bool:
    """Whether one of its roles sees the filesystem, or is going to."""
    if job.life.stage in WITHOUT and job.life.state in FINAL:
        return False
    return any(mount.id == filesystem_id for member in job.spec.crew for mount in member.work.mounts)
