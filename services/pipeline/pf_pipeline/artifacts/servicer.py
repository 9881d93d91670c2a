"""ArtifactService on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from paddleflow.pipeline.v1 import artifact_pb2 as pb
from paddleflow.pipeline.v1 import artifact_pb2_grpc
from pf_kit.lists import Lists
from pf_kit.mutation import Mutations
from pf_kit.unit import Change, Database
from pf_pipeline.artifacts import convert
from pf_pipeline.artifacts.domain import ArtifactEvent, CachedResult
from pf_pipeline.artifacts.ports import Tables
from pf_pipeline.artifacts.service import Artifacts
from pf_pipeline.owners import Callers, eyes


class ArtifactServicer(artifact_pb2_grpc.ArtifactServiceServicer):
    """Tells what runs read and wrote, and keeps what may be used again."""

    def __init__(
        self,
        *,
        database: Database,
        callers: Callers,
        mutations: Mutations,
        lists: Lists,
        artifacts: Artifacts,
        tables: Tables,
    ) -> None:
        self._database = database
        self._callers = callers
        self._mutations = mutations
        self._lists = lists
        self._artifacts = artifacts
        self._tables = tables

    async def ListArtifactEvents(
        self, request: pb.ListArtifactEventsRequest, _context: object
    ) -> pb.ListArtifactEventsResponse:
        view, caller, chosen = self._database.newest, await self._callers.current(), convert.event_filter(request)

        async def fetch(after: str, limit: int) -> Sequence[ArtifactEvent]:
            return await self._artifacts.events(view, caller, chosen, int(after or 0), limit)

        page = await self._lists.page(request, fetch, lambda event: str(event.number))
        events = map(convert.event_message, page.things)
        return pb.ListArtifactEventsResponse(events=events, next_page_token=page.next_token)

    async def GetLineage(self, request: pb.GetLineageRequest, _context: object) -> pb.GetLineageResponse:
        view, caller, place = self._database.newest, await self._callers.current(), convert.place_of(request)
        found = await self._artifacts.lineage(view, caller, place, convert.depth_of(request))
        return convert.lineage_reply(found)

    async def ExportTable(
        self, request: pb.ExportTableRequest, _context: object
    ) -> AsyncIterator[pb.ExportTableResponse]:
        table = convert.table_of(request.table)
        period = convert.period_of(request, eyes(await self._callers.current()))
        async for piece in self._tables.parquet(table, period):
            yield pb.ExportTableResponse(data=piece)

    async def ListCachedResults(
        self, request: pb.ListCachedResultsRequest, _context: object
    ) -> pb.ListCachedResultsResponse:
        view, caller, chosen = self._database.newest, await self._callers.current(), convert.result_filter(request)

        async def fetch(after: str, limit: int) -> Sequence[CachedResult]:
            return await self._artifacts.results(view, caller, chosen, int(after or 0), limit)

        page = await self._lists.page(request, fetch, lambda result: str(result.number))
        results = map(convert.result_message, page.things)
        return pb.ListCachedResultsResponse(results=results, next_page_token=page.next_token)

    async def GetCachedResult(self, request: pb.GetCachedResultRequest, _context: object) -> pb.GetCachedResultResponse:
        found = await self._artifacts.result(
            self._database.newest, await self._callers.current(), convert.id_of(request)
        )
        return pb.GetCachedResultResponse(result=convert.result_message(found))

    async def DeleteCachedResult(
        self, request: pb.DeleteCachedResultRequest, _context: object
    ) -> pb.DeleteCachedResultResponse:
        caller = await self._callers.current()

        async def work(change: Change) -> pb.DeleteCachedResultResponse:
            await self._artifacts.delete(change, caller, request.id)
            return pb.DeleteCachedResultResponse()

        subject = f"cached-result/{convert.id_of(request)}"
        return await self._mutations.run(
            request, pb.DeleteCachedResultResponse, locks=(subject,), subject=subject, work=work
        )
