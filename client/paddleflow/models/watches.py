"""What a watch yields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")


class ChangeKind(StrEnum):
    """What happened to a thing."""

    UNSPECIFIED = ""
    EXISTING = "existing"
    """Nothing: this is how the thing stands as the watch begins."""
    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """Something happened to a thing, and this is how it stands after it (for a deletion: how it stood last)."""

    kind: ChangeKind
    value: T


@dataclass(frozen=True, slots=True)
class Bookmark:
    """All changes up to here have been yielded."""

    resume_token: str
    """Begins a later watch after these changes."""
    caught_up: bool
    """True if nothing older is still to come: after the first such bookmark the watcher has seen all that exists."""


@dataclass(frozen=True, slots=True)
class Reset:
    """The watch starts over: forget what was seen, all that exists follows anew.

    It happens when the server no longer keeps the changes since the last bookmark, was restored from a back-up, or
    went away while it was still telling what exists.
    """


WatchItem: TypeAlias = Change[T] | Bookmark | Reset
