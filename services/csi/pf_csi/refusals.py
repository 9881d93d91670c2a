"""Why something is not done, in the words of the Container Storage Interface."""

from __future__ import annotations

import errno
from enum import StrEnum


class Why(StrEnum):
    """What whoever asked is to do next.

    The kubelet tries again after ABORTED and UNAVAILABLE, and keeps in mind that something may be there. All others are
    final for it: nothing of what was begun may be left then, since it may never ask to undo it.
    """

    MALFORMED = "INVALID_ARGUMENT"
    UNKNOWN = "NOT_FOUND"
    DIFFERENT = "ALREADY_EXISTS"
    FORBIDDEN = "PERMISSION_DENIED"
    UNPROVEN = "UNAUTHENTICATED"
    UNREADY = "FAILED_PRECONDITION"
    PENDING = "ABORTED"
    UNREACHABLE = "UNAVAILABLE"
    TOO_MUCH = "OUT_OF_RANGE"
    FULL = "RESOURCE_EXHAUSTED"
    UNSERVED = "UNIMPLEMENTED"
    FAULT = "INTERNAL"


class Refusal(Exception):
    """It is not done; the text says what happened and what to do."""

    def __init__(self, why: Why, text: str) -> None:
        super().__init__(text)
        self.why = why
        self.text = text


_BY_NUMBER = {
    errno.ENOENT: Why.UNKNOWN,
    errno.EACCES: Why.FORBIDDEN,
    errno.EPERM: Why.FORBIDDEN,
    errno.ELOOP: Why.MALFORMED,
    errno.ENAMETOOLONG: Why.MALFORMED,
    errno.ENOTDIR: Why.MALFORMED,
    errno.ENOTEMPTY: Why.UNREADY,
    errno.EBUSY: Why.PENDING,
    errno.ENOSPC: Why.FULL,
    errno.EDQUOT: Why.FULL,
    errno.EAGAIN: Why.FULL,
    errno.EMFILE: Why.FULL,
    errno.ENFILE: Why.FULL,
    errno.ENOTSUP: Why.UNREADY,
    errno.EIO: Why.UNREACHABLE,
    errno.ETIMEDOUT: Why.UNREACHABLE,
    errno.ECONNREFUSED: Why.UNREACHABLE,
}


def of_error(error: OSError, doing: str) -> Refusal:
    """What an error of files or servers means for whoever asked."""
    why = _BY_NUMBER.get(error.errno or 0, Why.FAULT)
    where = f" ({error.filename})" if error.filename else ""
    return Refusal(why, f"{doing}: {error.strerror or error}{where}")
