"""Where the rows of tables come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pf_pipeline.artifacts.domain import Period
from pf_pipeline.tables.domain import Column, Row


class RowSource(Protocol):
    """The rows of one table, newest first."""

    @property
    def columns(self) -> Sequence[Column]:
        """What stands in them."""

    async def rows(self, period: Period, after: str, limit: int) -> Sequence[Row]:
        """The rows after a place, at most so many; from the first on if it is empty. None only if there are no more."""
