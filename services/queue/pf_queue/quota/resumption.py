"""What happened to a user's grants between the place where a watch broke off and now.

Grants are kept as they are now. To know which queues a watcher could see where it broke off, the changes of its grants
since then are read from the event log: the first change of each tells how it was before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2
from paddleflow.problems import ResumeTokenExpired
from paddleflow.queue.v1 import queue_pb2
from pf_kit.events import Event, Moment
from pf_kit.resume import parse_resume_token
from pf_kit.unit import Database
from pf_queue.accounts.convert import GRANT_EVENT
from pf_queue.quota.convert import QUEUE_EVENT

READ = 500
"""Events read from the log at once."""
MOST = 10_000
"""Events read at most: by then, to begin anew is less work for both sides."""
FIRST_PAUSE = 0.005
"""Seconds until it is asked again whether older changes are over; doubled each time."""
LONGEST_PAUSE = 0.5


@dataclass(frozen=True, slots=True)
class Since:
    """What happened since a place."""

    granted_before: dict[str, bool] = field(default_factory=dict)
    """Of queues whose grant has changed: whether the queue was granted at the place."""
    queues: dict[str, bytes] = field(default_factory=dict)
    """Of queues that have changed: the first event's payload. Later ones may tell of another queue of the same name."""

    def granted_at_place(self, granted_now: frozenset[str]) -> frozenset[str]:
        """The queues that were granted at the place."""
        kept = {name for name in granted_now if name not in self.granted_before}
        return frozenset(kept | {name for name, before in self.granted_before.items() if before})

    def queue(self, name: str) -> queue_pb2.Queue | None:
        """A queue that has changed, as it was next after the place."""
        payload = self.queues.get(name)
        return queue_pb2.QueueEvent.FromString(payload).queue if payload is not None else None


async def since(database: Database, token: str, moment: Moment, user: str) -> Since:
    """What happened to the user's grants, and to all queues, after the token's place up to a moment."""
    found, grants = Since(), f"grant/{user}/queue/"
    async for event in _between(database, token, moment):
        fact = event.fact
        if fact.type == QUEUE_EVENT:
            found.queues.setdefault(fact.subject.removeprefix("queue/"), fact.payload)
        elif fact.type == GRANT_EVENT and fact.subject.startswith(grants):
            taken = auth_pb2.GrantEvent.FromString(fact.payload).kind == event_pb2.CHANGE_KIND_DELETED
            found.granted_before.setdefault(fact.subject.removeprefix(grants), taken)
    return found


async def _between(database: Database, token: str, moment: Moment) -> AsyncIterator[Event]:
    place = parse_resume_token(database.log.epoch, token)
    await _wait_until_readable(database, moment)
    cursor = place.cursor
    read = 0
    while cursor.xid < moment.xmax and (events := await database.log.events_after(cursor, READ)):
        read += len(events)
        if read > MOST:
            raise ResumeTokenExpired("Too much has happened since; start again without a token.")
        for event in events:
            if moment.includes(event.cursor) and not place.has_told(event):
                yield event
        cursor = events[-1].cursor


async def _wait_until_readable(database: Database, moment: Moment) -> None:
    """Waits until the log shows all that the moment includes: it holds events back while older changes go on.

    Most changes are over at once; one that takes long, a migration perhaps, is asked after ever more rarely.
    """
    pause = FIRST_PAUSE
    while True:
        async with database.snapshot() as snapshot:
            if snapshot.moment.xmin >= moment.xmax:
                return
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
