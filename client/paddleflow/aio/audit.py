"""Who changed what, and which software answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Unpack

from paddleflow.aio.pages import every
from paddleflow.aio.session import Session
from paddleflow.common.v1 import info_pb2, info_pb2_grpc
from paddleflow.models.audit import AuditFilter, AuditRecord, ServerInfo
from paddleflow.models.pages import Page
from paddleflow.wire.audit import audit_record_from_wire, server_info_from_wire
from paddleflow.wire.base import build, time_to_wire


class Audit:
    """The record of who changed what. For root."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stub: info_pb2_grpc.AuditServiceAsyncStub = info_pb2_grpc.AuditServiceStub(session.channel)

    def list(self, **chosen: Unpack[AuditFilter]) -> AsyncIterator[AuditRecord]:
        """The records, newest first; fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    async def page(self, size: int = 0, token: str = "", **chosen: Unpack[AuditFilter]) -> Page[AuditRecord]:
        """One page of the list: at most `size` records (0: as many as the server likes) from the token on."""
        request = build(
            info_pb2.ListAuditRecordsRequest,
            actor=chosen.get("actor", ""),
            subject=chosen.get("subject", ""),
            since=time_to_wire("since", chosen["since"]) if "since" in chosen else None,
            page_size=size,
            page_token=token,
        )
        reply = await self._session.call(self._stub.ListAuditRecords, request)
        return Page([audit_record_from_wire(record) for record in reply.records], reply.next_page_token)


class Info:
    """Which software answers."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stub: info_pb2_grpc.InfoServiceAsyncStub = info_pb2_grpc.InfoServiceStub(session.channel)

    async def get(self) -> ServerInfo:
        """The service's name and version; needs no token."""
        reply = await self._session.call_anonymously(self._stub.GetInfo, info_pb2.GetInfoRequest())
        return server_info_from_wire(reply)
