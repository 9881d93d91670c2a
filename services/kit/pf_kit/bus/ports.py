"""What the bus needs from its surroundings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pf_kit.bus.codec import Batch
from pf_kit.events import Cursor, Event
from pf_kit.unit import Change

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in one life of a service's events."""

    epoch: str
    cursor: Cursor


class EventSource(Protocol):
    """A service's events, asked of the service itself."""

    async def head(self) -> Position:
        """The newest place."""

    async def events_after(self, position: Position, limit: int) -> Batch:
        """The next events; ResumeTokenExpired if some are no longer kept, or are of another epoch."""


class Handler(Protocol[State]):
    """What a consumer does with events.

    Both ways in run inside the change that also notes how far the consumer has come: what they write through it happens
    exactly once. They must not call other services: a transaction never waits for the network.
    """

    def heeds(self, event: Event) -> bool:
        """False for an event that has no effect; `apply` may get it all the same. For such alone no change is made."""

    def locks(self, events: Sequence[Event]) -> Sequence[str]:
        """Names of the locks that the effects of these events need, as for any other change."""

    async def apply(self, change: Change, events: Sequence[Event]) -> None:
        """Takes in the next events, in order."""

    async def gather(self) -> State:
        """Asks the owner for its whole state, because events are missing for good. Runs outside of any change."""

    async def resync(self, change: Change, state: State) -> None:
        """Puts the state in the place of all that was known.

        Events that the state includes already may still follow: the version of their subject tells.
        """


class RelayMark(Protocol):
    """How far the events of this service are on the bus."""

    async def read(self) -> Cursor:
        """The last event that is known to be on the bus."""

    async def advance(self, cursor: Cursor) -> None:
        """Notes a later one; an earlier one changes nothing."""


class Publisher(Protocol):
    """Where a relay puts events."""

    async def publish(self, batches: Sequence[Batch]) -> None:
        """Puts batches on the bus, in order; those that are there already stay as they are."""
