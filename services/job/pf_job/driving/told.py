"""What jobs were told by this instance itself: an event that says the same later has no effect."""

from __future__ import annotations

from collections.abc import Iterable

from pf_job.jobs.states import Kind
from pf_job.jobs.telling import News

MOST = 10_000
"""News that are kept: events come within a second or so."""
HEARD = frozenset({Kind.ADMITTED, Kind.RELEASED})
"""What the queue service answers, and tells as an event as well."""


class Told:
    """The newest of it."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, int, Kind, int], None] = {}

    def note(self, news: Iterable[News]) -> None:
        """Keeps what was told for good."""
        self._keys.update({_key(each): None for each in news if each.event.kind in HEARD})
        while len(self._keys) > MOST:
            del self._keys[next(iter(self._keys))]

    def knows(self, news: News) -> bool:
        """True if a job was told this before."""
        return _key(news) in self._keys


def _key(news: News) -> tuple[str, int, Kind, int]:
    event = news.event
    return news.job, event.attempt, event.kind, event.grant.version if event.grant else 0
