"""Events come back from the wire as they went."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from paddleflow.common.v1 import event_pb2
from pf_kit.bus.codec import Batch, batch_message, parse_batch
from pf_kit.events import Cursor, Event, Fact

numbers = st.integers(0, 2**64 - 1)
cursors = st.builds(Cursor, numbers, numbers)
texts = st.text(max_size=20)
facts = st.builds(Fact, texts, texts, st.integers(-(2**63), 2**63 - 1), st.binary(max_size=50))
times = st.datetimes(min_value=datetime(1, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone
events = st.builds(Event, cursors, facts, texts, times)
batches = st.builds(Batch, texts, cursors, st.lists(events, max_size=5))


@given(batches)
def test_a_batch_survives_the_wire(batch: Batch) -> None:
    wire = batch_message(batch).SerializeToString()
    assert parse_batch(event_pb2.EventBatch.FromString(wire)) == batch


def test_a_batch_ends_where_its_last_event_stands() -> None:
    event = Event(Cursor(5, 6), Fact("t", "s", 1, b""), "", datetime.now(UTC))
    assert Batch("e", Cursor(1, 2), [event]).last == Cursor(5, 6)
    assert Batch("e", Cursor(1, 2), []).last == Cursor(1, 2)


def test_each_event_carries_its_epoch_and_its_payload_its_type() -> None:
    event = Event(Cursor(5, 6), Fact("paddleflow.queue.v1.QueueEvent", "queue/a", 1, b""), "", datetime.now(UTC))
    (message,) = batch_message(Batch("life", Cursor(1, 2), [event])).events
    assert message.position.epoch == "life"
    assert message.payload.TypeName() == message.type == "paddleflow.queue.v1.QueueEvent"
