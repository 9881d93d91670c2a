"""What can happen to a thing that is kept."""

from __future__ import annotations

from enum import StrEnum


class ChangeKind(StrEnum):
    """What happened."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
