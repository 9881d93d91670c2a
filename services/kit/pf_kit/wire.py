"""Between values that many services have and the messages that they share."""

from __future__ import annotations

from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.common.v1 import event_pb2
from pf_kit.changes import ChangeKind

CHANGE_KINDS = {
    ChangeKind.CREATED: event_pb2.CHANGE_KIND_CREATED,
    ChangeKind.UPDATED: event_pb2.CHANGE_KIND_UPDATED,
    ChangeKind.DELETED: event_pb2.CHANGE_KIND_DELETED,
}


def timestamp(time: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(time)
    return message
