"""Which of the events that arrive are next: decided by places alone."""

from __future__ import annotations

from collections.abc import Sequence

from pf_kit.bus.codec import Batch
from pf_kit.bus.ports import Position
from pf_kit.events import Event


class Gap(Exception):
    """Events are missing between the place and what arrived."""


def fresh(position: Position, batches: Sequence[Batch]) -> list[Event]:
    """The events that follow the place, without a gap; empty if nothing that arrived is new.

    Raises Gap if the first new event is not known to be the next one. A gap further on only ends the list.
    """
    found: list[Event] = []
    place = position.cursor
    for batch in batches:
        if batch.epoch != position.epoch or batch.last <= place:
            continue
        if batch.previous > place:
            if found:
                break
            raise Gap
        found.extend(event for event in batch.events if event.cursor > place)
        place = batch.last
    return found
