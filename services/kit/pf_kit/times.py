"""Times that callers give."""

from __future__ import annotations

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.problems import InvalidArgument, Violation


def time_of(field: str, message: Timestamp) -> datetime:
    """A time in UTC; InvalidArgument names the field if there is no such time."""
    try:
        return message.ToDatetime(UTC)
    except (ValueError, OverflowError):
        raise InvalidArgument.of(Violation(field, "must be a time from year 1 to year 9999")) from None
