"""Where a consumer asks for events: the owner's EventService, or the log itself inside the owner's process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import grpc.aio

from paddleflow.common.v1 import event_pb2
from paddleflow.problems import ResumeTokenExpired
from paddleflow.status import problem_of
from pf_kit.bus.codec import Batch, parse_batch, parse_cursor, position_message
from pf_kit.bus.ports import Position
from pf_kit.unit import EventLog

if TYPE_CHECKING:
    from paddleflow.common.v1.event_pb2_grpc import EventServiceAsyncStub

PATIENCE = 5.0
"""Seconds that an answer may take."""


class GrpcEventSource:
    """Another service's EventService."""

    def __init__(self, stub: EventServiceAsyncStub, metadata: Callable[[], Sequence[tuple[str, str]]]) -> None:
        self._stub = stub
        self._metadata = metadata

    async def head(self) -> Position:
        try:
            reply = await self._stub.GetEventHead(
                event_pb2.GetEventHeadRequest(), metadata=self._metadata(), timeout=PATIENCE
            )
        except grpc.aio.AioRpcError as error:
            raise problem_of(error) from error
        return Position(reply.head.epoch, parse_cursor(reply.head))

    async def events_after(self, position: Position, limit: int) -> Batch:
        request = event_pb2.ListEventsRequest(after=position_message(position.epoch, position.cursor), limit=limit)
        try:
            reply = await self._stub.ListEvents(request, metadata=self._metadata(), timeout=PATIENCE)
        except grpc.aio.AioRpcError as error:
            raise problem_of(error) from error
        return parse_batch(reply.batch)


class LocalEventSource:
    """The log of the own process."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    async def head(self) -> Position:
        return Position(self._log.epoch, await self._log.head())

    async def events_after(self, position: Position, limit: int) -> Batch:
        if position.epoch != self._log.epoch:
            raise ResumeTokenExpired
        return Batch(position.epoch, position.cursor, await self._log.events_after(position.cursor, limit))
