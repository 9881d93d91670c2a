"""Logs of jobs: what their replicas have written."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Unpack

from grpc import aio

from paddleflow.aio.pages import every
from paddleflow.aio.resuming import resuming
from paddleflow.aio.session import Session
from paddleflow.job.v1 import log_pb2, log_pb2_grpc
from paddleflow.models.logs import LogChoice, LogChunk, LogInfo, LogOptions, LogReplica
from paddleflow.models.pages import Page
from paddleflow.wire.base import build
from paddleflow.wire.logs import choice_to_wire, chunk_from_wire, info_from_wire, read_request


class Logs:
    """What jobs write. Who may see a job may read its logs."""

    def __init__(self, session: Session, channel: aio.Channel) -> None:
        self._session = session
        self._stub: log_pb2_grpc.LogServiceAsyncStub = log_pb2_grpc.LogServiceStub(channel)

    async def read(self, id: str, **options: Unpack[LogOptions]) -> AsyncIterator[LogChunk]:  # noqa: A002 -- the word of the contract
        """The logs of a job, from one replica after another; with `follow` by turns, as they are written.

        When a stream breaks it goes on by itself, with the byte after the last one that was told.
        """
        request = read_request(id, options)
        told: dict[LogReplica, log_pb2.LogPosition] = {}

        def begin() -> AsyncGenerator[log_pb2.ReadLogResponse, None]:
            if told:
                del request.positions[:]
                request.positions.extend(told.values())
            return self._session.stream(self._stub.ReadLog, request)

        async with aclosing(resuming(self._session, begin)) as messages:
            async for message in messages:
                chunk = chunk_from_wire(message)
                told[chunk.replica] = message.position
                yield chunk

    def info(self, id: str, **chosen: Unpack[LogChoice]) -> AsyncIterator[LogInfo]:  # noqa: A002 -- the word of the contract
        """How much there is to read of each replica; fetches page after page."""
        return every(lambda size, token: self.info_page(id, size, token, **chosen))

    async def info_page(
        self,
        id: str,  # noqa: A002 -- the word of the contract
        size: int = 0,
        token: str = "",
        **chosen: Unpack[LogChoice],
    ) -> Page[LogInfo]:
        """One page of it: at most `size` replicas (0: as many as the server likes) from the token on."""
        choice = choice_to_wire(id, chosen)
        request = build(log_pb2.GetLogInfoRequest, choice=choice, page_size=size, page_token=token)
        reply = await self._session.call(self._stub.GetLogInfo, request)
        return Page([info_from_wire(each) for each in reply.logs], reply.next_page_token)
