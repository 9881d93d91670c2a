"""Where notices are kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Protocol

from pf_kit.unit import Change, View
from pf_pipeline.notices.domain import Notice


class NoticeStore(Protocol):
    """The port to the rows of notices."""

    async def add(self, change: Change, notices: Sequence[Notice]) -> None:
        """Keeps what is to be told, in the commit that makes it so. What is kept already stays as it is."""

    async def claim(self, change: Change, lease: timedelta, limit: int, without: Collection[str]) -> Sequence[Notice]:
        """Notices that are due, but those of some owners; those first that wait longest.

        They count as tried, and are not due for so long: nobody else tries them meanwhile; their claimant may die.
        """

    async def settle(self, change: Change, notices: Sequence[Notice]) -> None:
        """Keeps how attempts ended. Of one whose lease is over it counts only that the notice is over: another one
        tries it by now.
        """

    async def of_run(self, view: View, run: str) -> Sequence[Notice]:
        """The notices of a run, by id."""
