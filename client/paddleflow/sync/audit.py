# Written by tools/generate_sync.py from paddleflow/aio/audit.py; change it there.
"""Who changed what, and which software answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Unpack

import grpc

from paddleflow.address import ENTRANCE
from paddleflow.common.v1 import info_pb2, info_pb2_grpc
from paddleflow.models.audit import AuditFilter, AuditRecord, ServerInfo
from paddleflow.models.pages import Page
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.sync.pages import every
from paddleflow.sync.session import Session
from paddleflow.wire.audit import audit_record_from_wire, server_info_from_wire
from paddleflow.wire.base import build, time_to_wire


class Audit:
    """The record of who changed what, which each service keeps for itself. For root."""

    def __init__(self, session: Session, channels: Mapping[str, grpc.Channel]) -> None:
        self._session = session
        self._stubs: dict[str, info_pb2_grpc.AuditServiceStub] = {
            service: info_pb2_grpc.AuditServiceStub(channel) for service, channel in channels.items()
        }

    def list(self, **chosen: Unpack[AuditFilter]) -> Iterator[AuditRecord]:
        """The records of a service (the queue service if none is named), newest first; fetches page after page."""
        return every(lambda size, token: self.page(size, token, **chosen))

    def page(self, size: int = 0, token: str = "", **chosen: Unpack[AuditFilter]) -> Page[AuditRecord]:
        """One page of the list: at most `size` records (0: as many as the server likes) from the token on."""
        request = build(
            info_pb2.ListAuditRecordsRequest,
            actor=chosen.get("actor", ""),
            subject=chosen.get("subject", ""),
            since=time_to_wire("since", chosen["since"]) if "since" in chosen else None,
            page_size=size,
            page_token=token,
        )
        reply = self._session.call(self._stub(chosen.get("service", ENTRANCE)).ListAuditRecords, request)
        return Page([audit_record_from_wire(record) for record in reply.records], reply.next_page_token)

    def _stub(self, service: str) -> info_pb2_grpc.AuditServiceStub:
        if service not in self._stubs:
            raise InvalidArgument.of(Violation("service", f"{service!r} is not one of {', '.join(self._stubs)}"))
        return self._stubs[service]


class Info:
    """Which software answers."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stub: info_pb2_grpc.InfoServiceStub = info_pb2_grpc.InfoServiceStub(session.channel)

    def get(self) -> ServerInfo:
        """The service's name and version; needs no token."""
        reply = self._session.call_anonymously(self._stub.GetInfo, info_pb2.GetInfoRequest())
        return server_info_from_wire(reply)
