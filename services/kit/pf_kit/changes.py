"""What can happen to a thing that is kept."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

UNBORN = datetime(1970, 1, 1, tzinfo=UTC)
"""The times of what is not stored yet."""


class ChangeKind(StrEnum):
    """What happened."""

    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
