"""Resume tokens: where a watcher stands in the events of a service."""

from __future__ import annotations

from dataclasses import dataclass

from paddleflow.problems import ResumeTokenExpired, ResumeTokenInvalid
from pf_kit.base64url import decoded, encoded
from pf_kit.events import LARGEST, Cursor, Event, Moment

LONGEST = 4096
"""Characters of a token: room for a snapshot with more transactions under way than there are connections."""


@dataclass(frozen=True, slots=True)
class Place:
    """All events up to the cursor are told, and those that the moment includes."""

    cursor: Cursor
    moment: Moment | None
    """The snapshot the watch began with; None once all that it includes lies behind."""

    def has_told(self, event: Event) -> bool:
        if event.cursor <= self.cursor:
            return True
        return self.moment is not None and self.moment.includes(event.cursor)

    def moved(self, cursor: Cursor) -> Place:
        """The place after an event has been told, or passed over; a place never goes back."""
        if cursor <= self.cursor:
            return self
        over = self.moment is None or cursor.xid >= self.moment.xmax
        return Place(cursor, None if over else self.moment)


def resume_token(epoch: str, place: Place) -> str:
    """The token of a place. It tells nothing that is secret, and whoever forges one deceives only itself."""
    text = f"{epoch}/{place.cursor}/{place.moment or ''}"
    return encoded(text.encode())


def parse_resume_token(epoch: str, token: str) -> Place:
    """The place of a token; ResumeTokenInvalid if it is none, ResumeTokenExpired if it is of another epoch."""
    if len(token) > LONGEST:
        raise ResumeTokenInvalid
    try:
        told, cursor, moment = decoded(token).decode().split("/")
        place = Place(Cursor.parse(cursor), Moment.parse(moment) if moment else None)
    except ValueError:
        raise ResumeTokenInvalid from None
    if max(place.cursor.xid, place.cursor.id) > LARGEST:
        raise ResumeTokenInvalid
    if told != epoch:
        raise ResumeTokenExpired("The installation was restored from a back-up; start again without a token.")
    return place
