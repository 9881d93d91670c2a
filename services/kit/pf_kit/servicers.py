"""The methods that services answer alike: what they are, who changed what, what happened, what uses filesystems."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.common.v1 import event_pb2, event_pb2_grpc, info_pb2, info_pb2_grpc
from paddleflow.fs.v1 import use_pb2, use_pb2_grpc
from paddleflow.problems import InvalidArgument, ResumeTokenExpired, Violation
from pf_kit.bus.codec import Batch, batch_message, parse_cursor, position_message
from pf_kit.events import LARGEST, Cursor, Event
from pf_kit.page import PageTokens, list_scope, page_size
from pf_kit.times import time_of
from pf_kit.unit import AuditFilter, AuditRecord, Database, EventLog

DEFAULT_EVENTS = 500
MAX_EVENTS = 1000
MOST_USES = 10
"""Of a filesystem that are named."""
MAX_BATCH_BYTES = 2 * 1024 * 1024
"""A batch ends here at the latest, so that it is far from the longest message that gRPC takes."""


class InfoServicer(info_pb2_grpc.InfoServiceServicer):
    """Tells which software answers."""

    def __init__(self, *, service: str, version: str, installation: str) -> None:
        self._reply = info_pb2.GetInfoResponse(service=service, version=version, installation=installation)

    async def GetInfo(self, _request: info_pb2.GetInfoRequest, _context: object) -> info_pb2.GetInfoResponse:
        return self._reply


class AuditServicer(info_pb2_grpc.AuditServiceServicer):
    """Reads the audit log."""

    def __init__(self, database: Database, tokens: PageTokens) -> None:
        self._database = database
        self._tokens = tokens

    async def ListAuditRecords(
        self, request: info_pb2.ListAuditRecordsRequest, _context: object
    ) -> info_pb2.ListAuditRecordsResponse:
        size, scope = page_size(request.page_size), list_scope(request)
        position = self._tokens.decode(request.page_token, scope)
        before = int(position) if position else None
        records = await self._database.audit_records(_filter(request), before, size + 1)
        more = str(records[size - 1].id) if len(records) > size else ""
        return info_pb2.ListAuditRecordsResponse(
            records=[_audit_message(record) for record in records[:size]],
            next_page_token=self._tokens.encode(more, scope),
        )


class EventServicer(event_pb2_grpc.EventServiceServicer):
    """Gives back events, for consumers that missed some on the bus."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    async def ListEvents(self, request: event_pb2.ListEventsRequest, _context: object) -> event_pb2.ListEventsResponse:
        after = await self._log.floor()
        if request.HasField("after"):
            if request.after.epoch != self._log.epoch:
                raise ResumeTokenExpired("The position is of another life of the database; read the state anew.")
            after = _place(request.after)
        events = await self._log.events_after(after, _limit(request.limit))
        batch = Batch(self._log.epoch, after, _fitting(events))
        return event_pb2.ListEventsResponse(batch=batch_message(batch))

    async def GetEventHead(
        self, _request: event_pb2.GetEventHeadRequest, _context: object
    ) -> event_pb2.GetEventHeadResponse:
        return event_pb2.GetEventHeadResponse(head=position_message(self._log.epoch, await self._log.head()))


class UseServicer(use_pb2_grpc.FilesystemUseServiceServicer):
    """Names some of what uses a filesystem."""

    def __init__(self, uses: Callable[[str], AsyncIterator[use_pb2.FilesystemUse]]) -> None:
        """`uses` finds those of the filesystem with an id."""
        self._uses = uses

    async def ListFilesystemUses(
        self, request: use_pb2.ListFilesystemUsesRequest, _context: object
    ) -> use_pb2.ListFilesystemUsesResponse:
        if not request.filesystem_id:
            raise InvalidArgument.of(Violation("filesystem_id", "must be given"))
        found: list[use_pb2.FilesystemUse] = []
        async for use in self._uses(request.filesystem_id):
            found.append(use)
            if len(found) == MOST_USES:
                break
        return use_pb2.ListFilesystemUsesResponse(uses=found)


def _place(message: event_pb2.Position) -> Cursor:
    after = parse_cursor(message)
    if max(after.xid, after.id) > LARGEST:
        raise InvalidArgument.of(Violation("after", f"must have numbers of at most {LARGEST}"))
    return after


def _limit(asked: int) -> int:
    if asked < 0:
        raise InvalidArgument.of(Violation("limit", "must not be negative"))
    return min(asked, MAX_EVENTS) if asked else DEFAULT_EVENTS


def _fitting(events: Sequence[Event]) -> Sequence[Event]:
    """As many of the events as fit into one message, at least one."""
    total = 0
    for count, event in enumerate(events):
        total += len(event.fact.payload)
        if total > MAX_BATCH_BYTES:
            return events[: max(count, 1)]
    return events


def _filter(request: info_pb2.ListAuditRecordsRequest) -> AuditFilter:
    since = time_of("since", request.since) if request.HasField("since") else None
    return AuditFilter(request.actor, request.subject, since)


def _audit_message(record: AuditRecord) -> info_pb2.AuditRecord:
    created = Timestamp()
    created.FromDatetime(record.create_time)
    entry = record.entry
    return info_pb2.AuditRecord(
        id=record.id,
        create_time=created,
        actor=entry.actor,
        on_behalf_of=entry.on_behalf_of,
        method=entry.method,
        subject=entry.subject,
        peer=entry.peer,
        request_id=entry.request_id,
    )
