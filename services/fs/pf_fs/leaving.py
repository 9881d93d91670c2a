"""Hears of users who are deleted, from the service that keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2
from pf_fs.ports import Users
from pf_fs.service import Departures
from pf_fs.store import LOCK
from pf_kit.clock import Clock
from pf_kit.events import Event
from pf_kit.unit import Change

USER_EVENT = auth_pb2.UserEvent.DESCRIPTOR.full_name
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

    def locks(self, _events: Sequence[Event]) -> Sequence[str]:
        return (LOCK,)

    async def apply(self, change: Change, events: Sequence[Event]) -> None:
        for event in events:
            if event.fact.type == USER_EVENT:
                told = auth_pb2.UserEvent.FromString(event.fact.payload)
                if told.kind == event_pb2.CHANGE_KIND_DELETED:
                    await self._departures.drop(change, told.user.name, event.create_time)

    async def gather(self) -> Known:
        until = self._clock.now() - MARGIN
        return Known(await self._users.all(), until)

    async def resync(self, change: Change, state: Known) -> None:
        await self._departures.drop_others(change, state.names, state.until)
