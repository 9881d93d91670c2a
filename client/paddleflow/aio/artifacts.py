"""Artifacts: what runs read and wrote, where it comes from, and what may be used again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import datetime
from typing import Unpack

from grpc import aio

from paddleflow.aio.pages import every
from paddleflow.aio.session import Session
from paddleflow.models.artifacts import (
    ArtifactEvent,
    ArtifactFilter,
    CachedResult,
    CachedResultFilter,
    ExportedTable,
    Lineage,
)
from paddleflow.models.pages import Page
from paddleflow.pipeline.v1 import artifact_pb2, artifact_pb2_grpc
from paddleflow.wire.artifacts import (
    TABLE,
    cached_request,
    cached_result_from_wire,
    event_from_wire,
    events_request,
    lineage_from_wire,
)
from paddleflow.wire.base import build, time_to_wire


class Artifacts:
    """What is known of files that steps read and wrote, and of results that may be used again."""

    def __init__(self, session: Session, channel: aio.Channel) -> None:
        self._session = session
        self._stub: artifact_pb2_grpc.ArtifactServiceAsyncStub = artifact_pb2_grpc.ArtifactServiceStub(channel)

    def events(self, **chosen: Unpack[ArtifactFilter]) -> AsyncIterator[ArtifactEvent]:
        """Which step read or wrote what, newest first; fetches page after page."""
        return every(lambda size, token: self.event_page(size, token, **chosen))

    async def event_page(self, size: int = 0, token: str = "", **chosen: Unpack[ArtifactFilter]) -> Page[ArtifactEvent]:
        """One page of it: at most `size` events (0: as many as the server likes) from the token on."""
        reply = await self._session.call(self._stub.ListArtifactEvents, events_request(chosen, size, token))
        return Page([event_from_wire(each) for each in reply.events], reply.next_page_token)

    async def lineage(self, filesystem_id: str, path: str, *, depth: int = 0) -> Lineage:
        """What an artifact was made from and what was made with it, at most `depth` steps away (0: as usual)."""
        request = build(artifact_pb2.GetLineageRequest, filesystem_id=filesystem_id, artifact_path=path, depth=depth)
        return lineage_from_wire(await self._session.call(self._stub.GetLineage, request))

    async def export(
        self, table: ExportedTable, *, since: datetime | None = None, until: datetime | None = None
    ) -> AsyncIterator[bytes]:
        """A table as a Parquet file, piece by piece; about runs that were made in this time."""
        request = build(
            artifact_pb2.ExportTableRequest,
            table=TABLE.number(table),
            since=time_to_wire("since", since) if since else None,
            until=time_to_wire("until", until) if until else None,
        )
        async with aclosing(self._session.stream(self._stub.ExportTable, request)) as messages:
            async for message in messages:
                yield message.data

    def cached(self, **chosen: Unpack[CachedResultFilter]) -> AsyncIterator[CachedResult]:
        """Results that may be used again, newest first; fetches page after page."""
        return every(lambda size, token: self.cached_page(size, token, **chosen))

    async def cached_page(
        self, size: int = 0, token: str = "", **chosen: Unpack[CachedResultFilter]
    ) -> Page[CachedResult]:
        """One page of them: at most `size` (0: as many as the server likes) from the token on."""
        reply = await self._session.call(self._stub.ListCachedResults, cached_request(chosen, size, token))
        return Page([cached_result_from_wire(each) for each in reply.results], reply.next_page_token)

    async def get_cached(self, id: str) -> CachedResult:  # noqa: A002 -- the word of the contract
        """One result that may be used again."""
        request = build(artifact_pb2.GetCachedResultRequest, id=id)
        reply = await self._session.call(self._stub.GetCachedResult, request)
        return cached_result_from_wire(reply.result)

    async def delete_cached(self, id: str, *, request_id: str = "") -> None:  # noqa: A002 -- as above
        """Forgets a result, so that it is made again; the artifacts stay."""
        request = build(artifact_pb2.DeleteCachedResultRequest, id=id)
        await self._session.change(self._stub.DeleteCachedResult, request, request_id)
