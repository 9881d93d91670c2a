"""Where it is kept for how long jobs held what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pf_job.statistics.domain import CardQuery, CardTime, Place
from pf_kit.unit import View


class CardTimeStore(Protocol):
    """The port to it. It is written with the jobs."""

    async def card_times(self, view: View, query: CardQuery, after: Place, limit: int) -> Sequence[CardTime]:
        """For how long jobs held what, by place; those that come after one."""
