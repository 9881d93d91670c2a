"""Hears of users who are deleted, from the service that keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pf_fs.ports import Users
from pf_fs.service import Departures
from pf_fs.store import LOCK
from pf_kit.clock import Clock
from pf_kit.events import Event
from pf_kit.unit import Change
from pf_kit.users import departed

MARGIN = timedelta(minutes=1)
"""What is younger than this may be that of a user who was added while the others were counted."""


@dataclass(frozen=True, slots=True)
class Known:
    """Who there was."""

    names: frozenset[str]
    until: datetime
    """What was made before then was made by, or for, somebody who was there before."""


class Leaving:
    """Fulfils `Handler`: takes in the events of users."""

    def __init__(self, *, departures: Departures, users: Users, clock: Clock) -> None:
        self._departures = departures
        self._users = users
        self._clock = clock

    def heeds(self, event: Event) -> bool:
        return departed(event) is not None

    def locks(self, _events: Sequence[Event]) -> Sequence[str]:
        return (LOCK,)

    async def apply(self, change: Change, events: Sequence[Event]) -> None:
        for event in events:
            user = departed(event)
            if user is not None:
                await self._departures.drop(change, user, event.create_time)

    async def gather(self) -> Known:
        until = self._clock.now() - MARGIN
        return Known(frozenset(await self._users.all()), until)

    async def resync(self, change: Change, state: Known) -> None:
        await self._departures.drop_others(change, state.names, state.until)
