"""What tables look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

Value = str | int | bool | datetime | Sequence[str] | None


class ColumnKind(StrEnum):
    """What stands in a column. Each may be None."""

    TEXT = "text"
    WHOLE = "whole"
    TRUTH = "truth"
    TIME = "time"
    TEXTS = "texts"
    """A list of texts."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    kind: ColumnKind = ColumnKind.TEXT


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table."""

    place: str
    """Where it stands: the next page begins after it."""
    values: Sequence[Value]
    """In the order of the columns."""
