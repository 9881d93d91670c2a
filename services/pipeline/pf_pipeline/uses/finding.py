"""Which runs and schedules use a filesystem."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from paddleflow.fs.v1 import use_pb2 as pb
from paddleflow.problems import NotFound, PermissionDenied
from pf_kit.unit import Database, View
from pf_pipeline.documents.reading import read
from pf_pipeline.pipelines.domain import PipelineVersion, number_of
from pf_pipeline.pipelines.judging import extra_of
from pf_pipeline.pipelines.store import PipelineStore
from pf_pipeline.runs.domain import Run
from pf_pipeline.runs.ports import Filesystems
from pf_pipeline.runs.store import RunStore
from pf_pipeline.schedules.domain import Schedule, ScheduleFilter, ScheduleState
from pf_pipeline.schedules.store import ScheduleStore

BATCH = 200
LASTING = ScheduleFilter(states=frozenset({ScheduleState.RUNNING, ScheduleState.PAUSED}))


class RunUses:
    """Looks through the runs and schedules that are not over."""

    def __init__(
        self,
        database: Database,
        runs: RunStore,
        schedules: ScheduleStore,
        pipelines: PipelineStore,
        filesystems: Filesystems,
    ) -> None:
        self._database = database
        self._runs = runs
        self._schedules = schedules
        self._pipelines = pipelines
        self._filesystems = filesystems

    async def of(self, filesystem_id: str) -> AsyncIterator[pb.FilesystemUse]:
        view = self._database.newest
        async for run in self._unfinished(view):
            if filesystem_id in run.order.mounts.values():
                yield pb.FilesystemUse(kind=pb.FILESYSTEM_USER_RUN, id=run.id, owner=run.owner)
        ids: dict[tuple[str, str], str] = {}
        async for schedule in self._lasting(view):
            if filesystem_id in [
                await self._id(schedule.owner, name, ids) for name in await self._names(view, schedule)
            ]:
                yield pb.FilesystemUse(kind=pb.FILESYSTEM_USER_SCHEDULE, id=schedule.id, owner=schedule.owner)

    async def _unfinished(self, view: View) -> AsyncIterator[Run]:
        ids = await self._runs.unfinished(view)
        for begin in range(0, len(ids), BATCH):
            for run in await self._runs.runs(view, ids[begin : begin + BATCH]):
                yield run

    async def _lasting(self, view: View) -> AsyncIterator[Schedule]:
        before = 0
        while page := await self._schedules.page(view, LASTING, before, BATCH):
            for schedule in page:
                yield schedule
            before = page[-1].number

    async def _names(self, view: View, schedule: Schedule) -> frozenset[str]:
        """Of the filesystems that its runs are to have."""
        pipeline = number_of(schedule.pipeline_id)
        version = await self._pipelines.version(view, pipeline, schedule.pipeline_version)
        # A large document takes a second, in which others want to be served.
        return await asyncio.to_thread(names_of, version) if version else frozenset()

    async def _id(self, owner: str, name: str, known: dict[tuple[str, str], str]) -> str:
        """Of a filesystem as a user means its name; empty if there is none."""
        if (owner, name) not in known:
            try:
                known[owner, name] = (await self._filesystems.ids(owner, [name]))[name]
            except (NotFound, PermissionDenied):
                known[owner, name] = ""
        return known[owner, name]


def names_of(version: PipelineVersion) -> frozenset[str]:
    """The filesystems of a pipeline: the main one, and those that its steps see beside it."""
    extra = extra_of(read(version.document).document)
    return frozenset(filter(None, (version.filesystem, *(mount.name for mount in extra.values()))))
