"""However events arrive, a reader takes each once, in order, and none after a gap."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_kit.bus.codec import Batch
from pf_kit.bus.ports import Position
from pf_kit.bus.progress import Gap, fresh
from pf_kit.bus.relay import BATCH_EVENTS, backoff, batches
from pf_kit.events import BEGINNING, Cursor, Event, Fact

EPOCH = "life"
TIME = datetime(2026, 1, 1, tzinfo=UTC)
LOG = [Event(Cursor(number // 3 + 10, number), Fact("t", "s", number, b""), "", TIME) for number in range(1, 60)]
PLACES = [BEGINNING, *(event.cursor for event in LOG)]
places = st.integers(0, len(LOG))


def cut(start: int, end: int) -> Batch:
    """The events of the log between two places, as a relay would publish them."""
    return Batch(EPOCH, PLACES[start], LOG[start:end])


@st.composite
def anyhow(draw: st.DrawFn) -> list[Batch]:
    """Batches of several relays that began and ended anywhere: overlapping, repeated, with gaps between."""
    ends = draw(st.lists(st.tuples(places, places), max_size=12))
    return [cut(min(pair), max(pair)) for pair in ends]


@given(places, anyhow())
def test_what_is_taken_follows_the_place_without_a_gap(start: int, arrived: list[Batch]) -> None:
    try:
        taken = fresh(Position(EPOCH, PLACES[start]), arrived)
    except Gap:
        return
    assert taken == LOG[start : start + len(taken)]


@given(places, st.lists(st.integers(1, 20), max_size=10), st.integers(0, 20))
def test_consecutive_batches_are_taken_whole(start: int, sizes: list[int], back: int) -> None:
    """They may begin before the place: a relay that was killed repeats what it had not noted."""
    arrived, at = [], max(0, start - back)
    for size in sizes:
        arrived.append(cut(at, at + size))
        at = min(at + size, len(LOG))
    assert fresh(Position(EPOCH, PLACES[start]), arrived) == LOG[start : max(at, start)]


@given(places, anyhow())
def test_what_was_missed_is_noticed(start: int, arrived: list[Batch]) -> None:
    first_new = next((batch for batch in arrived if batch.last > PLACES[start]), None)
    if first_new and first_new.previous > PLACES[start]:
        with pytest.raises(Gap):
            fresh(Position(EPOCH, PLACES[start]), arrived)


def test_events_of_another_epoch_are_passed_over() -> None:
    assert fresh(Position("other life", BEGINNING), [cut(0, 5)]) == []


@given(places, st.integers(0, 3000))
def test_a_relay_cuts_events_into_messages_that_follow_each_other(start: int, count: int) -> None:
    events = [Event(Cursor(100, number), Fact("t", "s", 1, b""), "", TIME) for number in range(count)]
    cuts = list(batches(EPOCH, PLACES[start], events))
    assert [event for batch in cuts for event in batch.events] == events
    assert all(0 < len(batch.events) <= BATCH_EVENTS for batch in cuts)
    assert [batch.previous for batch in cuts] == [PLACES[start], *(batch.last for batch in cuts)][: len(cuts)]


def test_failures_in_a_row_are_followed_by_ever_longer_waits_up_to_a_limit() -> None:
    assert all(0.025 <= backoff(0) <= 0.05 for _ in range(100))
    assert all(0.5 <= backoff(failures) <= 1.0 for failures in range(5, 5000))
    assert len({backoff(9) for _ in range(20)}) > 1
