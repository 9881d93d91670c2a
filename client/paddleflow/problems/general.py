"""Problems that have nothing to do with what a service is about."""

from __future__ import annotations

from paddleflow.problems.base import (
    Aborted,
    InvalidArgument,
    OutOfRange,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
)


class RequestIdReused(InvalidArgument):
    """The same request id came before with another request; use a new id for a new request."""

    reason = "REQUEST_ID_REUSED"


class PageTokenInvalid(InvalidArgument):
    """The page token is not one of this list's; start again without a token."""

    reason = "PAGE_TOKEN_INVALID"


class ResumeTokenInvalid(InvalidArgument):
    """The resume token is not one of this watch's; start again without a token."""

    reason = "RESUME_TOKEN_INVALID"


class TokenMissing(Unauthenticated):
    """The call has no token; log in first."""

    reason = "TOKEN_MISSING"


class TokenInvalid(Unauthenticated):
    """The token is not one of this installation; log in again."""


class TokenExpired(Unauthenticated):
    """The token's time is over; log in again."""

    reason = "TOKEN_EXPIRED"


class TokenRevoked(Unauthenticated):
    """The token has been revoked; log in again."""

    reason = "TOKEN_REVOKED"


class EtagMismatch(Aborted):
    """Somebody changed the thing since it was read; read it again, then decide."""

    reason = "ETAG_MISMATCH"


class Conflict(Aborted):
    """The change lost against others again and again; try again."""


class ResumeTokenExpired(OutOfRange):
    """The events after this token are no longer kept; start again without a token."""


class Overloaded(ResourceExhausted):
    """The server has as many calls as it can serve; try again after the delay."""


class TooManyCalls(ResourceExhausted):
    """You have as many calls under way as you may; try again after the delay."""

    reason = "TOO_MANY_CALLS"


class WatchTooSlow(ResourceExhausted):
    """The watcher reads slower than events come; resume from the last token."""

    reason = "WATCH_TOO_SLOW"


class DatabaseUnavailable(Unavailable):
    """The database does not answer; try again."""


class ShuttingDown(Unavailable):
    """The server is about to stop; try again."""

    reason = "SHUTTING_DOWN"


class NoLeader(Unavailable):
    """No instance leads at the moment; try again."""

    reason = "NO_LEADER"
