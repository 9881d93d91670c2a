"""Audit records, service information and the kinds of changes from the wire."""

from __future__ import annotations

from paddleflow.common.v1 import event_pb2, info_pb2
from paddleflow.models.audit import AuditRecord, ServerInfo
from paddleflow.models.watches import ChangeKind
from paddleflow.wire.base import EnumCodec, time_from_wire

CHANGE_KIND = EnumCodec(ChangeKind, event_pb2.ChangeKind, "CHANGE_KIND_")


def audit_record_from_wire(record: info_pb2.AuditRecord) -> AuditRecord:
    return AuditRecord(
        id=record.id,
        create_time=time_from_wire(record, "create_time"),
        actor=record.actor,
        on_behalf_of=record.on_behalf_of,
        method=record.method,
        subject=record.subject,
        peer=record.peer,
        request_id=record.request_id,
    )


def server_info_from_wire(reply: info_pb2.GetInfoResponse) -> ServerInfo:
    return ServerInfo(service=reply.service, version=reply.version, installation=reply.installation)
