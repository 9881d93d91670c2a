"""FilesystemUseService on the wire: which runs and schedules use a filesystem."""

from __future__ import annotations

from collections.abc import AsyncIterator

from paddleflow.fs.v1 import use_pb2 as pb
from paddleflow.fs.v1 import use_pb2_grpc
from paddleflow.problems import InvalidArgument, NotFound, PermissionDenied, Violation
from pf_kit.unit import Database, View
from pf_pipeline.pipelines.domain import number_of
from pf_pipeline.pipelines.store import PipelineStore
from pf_pipeline.runs.domain import Run
from pf_pipeline.runs.ports import Filesystems
from pf_pipeline.runs.store import RunStore
from pf_pipeline.schedules.domain import Schedule, ScheduleFilter, ScheduleState
from pf_pipeline.schedules.store import ScheduleStore

MOST = 10
"""That are named."""
BATCH = 200
LASTING = ScheduleFilter(states=frozenset({ScheduleState.RUNNING, ScheduleState.PAUSED}))


class UseServicer(use_pb2_grpc.FilesystemUseServiceServicer):
    """Looks through the runs and schedules that are not over."""

    def __init__(
        self,
        *,
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

    async def ListFilesystemUses(
        self, request: pb.ListFilesystemUsesRequest, _context: object
    ) -> pb.ListFilesystemUsesResponse:
        if not request.filesystem_id:
            raise InvalidArgument.of(Violation("filesystem_id", "must be given"))
        found: list[pb.FilesystemUse] = []
        async for use in self._uses(self._database.newest, request.filesystem_id):
            found.append(use)
            if len(found) == MOST:
                break
        return pb.ListFilesystemUsesResponse(uses=found)

    async def _uses(self, view: View, filesystem_id: str) -> AsyncIterator[pb.FilesystemUse]:
        async for run in self._unfinished(view):
            if filesystem_id in run.order.mounts.values():
                yield pb.FilesystemUse(kind=pb.FILESYSTEM_USER_RUN, id=run.id, owner=run.owner)
        async for schedule in self._lasting(view):
            if await self._filesystem_of(view, schedule) == filesystem_id:
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

    async def _filesystem_of(self, view: View, schedule: Schedule) -> str:
        """The id of its main filesystem, as its owner means the name; empty if there is none."""
        pipeline = number_of(schedule.pipeline_id)
        version = await self._pipelines.version(view, pipeline, schedule.pipeline_version)
        if version is None or not version.filesystem:
            return ""
        try:
            return (await self._filesystems.ids(schedule.owner, [version.filesystem]))[version.filesystem]
        except (NotFound, PermissionDenied):
            return ""
