from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.problems import QueueStateConflict
from pf_queue.quota.domain import TRANSITIONS, QueueState, StateEvent, advance

TABLE = """
          open  hold  drain     close    emptied
open      open  held  draining  closing  open
held      open  held  draining  closing  held
draining  open  held  draining  closing  draining
closing   open  -     -         closing  closed
closed    open  -     -         closed   closed
"""
EVENTS, *ROWS = [line.split() for line in TABLE.strip().splitlines()]
EXPECTED = {(state, event): after for state, *afters in ROWS for event, after in zip(EVENTS, afters, strict=True)}


@pytest.mark.parametrize(("state", "event"), list(product(QueueState, StateEvent)))
def test_every_event_in_every_state(state: QueueState, event: StateEvent) -> None:
    after = EXPECTED[state, event]
    if after == "-":
        with pytest.raises(QueueStateConflict, match=f"^cannot {event} a queue that is {state}; open it first$"):
            advance(state, event)
    else:
        assert advance(state, event) == after


def test_the_table_names_no_state_or_event_that_is_not_there() -> None:
    assert set(EXPECTED) == set(product(QueueState, StateEvent))
    assert set(TRANSITIONS) <= set(EXPECTED)


@given(st.lists(st.sampled_from(StateEvent)))
def test_a_queue_can_always_be_opened_and_closed(events: list[StateEvent]) -> None:
    state = QueueState.OPEN
    for event in events:
        state = TRANSITIONS.get((state, event), state)
    assert advance(state, StateEvent.OPEN) is QueueState.OPEN
    assert advance(advance(state, StateEvent.CLOSE), StateEvent.EMPTIED) is QueueState.CLOSED
