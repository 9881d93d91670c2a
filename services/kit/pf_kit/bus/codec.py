"""Events as they travel: the same message on the bus and in the answers of EventService."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from paddleflow.common.v1 import event_pb2
from pf_kit.events import Cursor, Event, Fact

_TYPE_PREFIX = "type.googleapis.com/"


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive events of one life of one service."""

    epoch: str
    previous: Cursor
    """The place just before the first event."""
    events: Sequence[Event]

    @property
    def last(self) -> Cursor:
        """The place of the last event."""
        return self.events[-1].cursor if self.events else self.previous


def batch_message(batch: Batch) -> event_pb2.EventBatch:
    """The batch as a protobuf message."""
    message = event_pb2.EventBatch(previous=position_message(batch.epoch, batch.previous))
    for event in batch.events:
        _add_event(message, batch.epoch, event)
    return message


def position_message(epoch: str, cursor: Cursor) -> event_pb2.Position:
    """A place as a protobuf message."""
    return event_pb2.Position(epoch=epoch, xid=cursor.xid, id=cursor.id)


def _add_event(batch: event_pb2.EventBatch, epoch: str, event: Event) -> None:
    """Appends an event; filled in place, which takes half the time of building messages and copying them."""
    fact = event.fact
    message = batch.events.add(type=fact.type, subject=fact.subject, subject_version=fact.version, trace=event.trace)
    message.position.epoch = epoch
    message.position.xid = event.cursor.xid
    message.position.id = event.cursor.id
    message.create_time.FromDatetime(event.create_time)
    message.payload.type_url = _TYPE_PREFIX + fact.type
    message.payload.value = fact.payload


def parse_batch(message: event_pb2.EventBatch) -> Batch:
    """The batch of such a message."""
    return Batch(
        message.previous.epoch, parse_cursor(message.previous), [parse_event(event) for event in message.events]
    )


def parse_cursor(message: event_pb2.Position) -> Cursor:
    """The place of such a message, whatever its epoch."""
    return Cursor(message.xid, message.id)


def parse_event(message: event_pb2.Event) -> Event:
    """The event of such a message."""
    fact = Fact(message.type, message.subject, message.subject_version, message.payload.value)
    created = message.create_time.ToDatetime(tzinfo=UTC)
    return Event(parse_cursor(message.position), fact, message.trace, created)
