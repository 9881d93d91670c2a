"""For how long jobs held what, in memory, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from pf_job.statistics.domain import CardQuery, CardTime, Place, card_times
from pf_kit.memory import tables
from pf_kit.unit import View


class MemoryCardTimeStore:
    """Fulfils `CardTimeStore` over a `MemoryDatabase`."""

    async def card_times(self, view: View, query: CardQuery, after: Place, limit: int) -> Sequence[CardTime]:
        found = card_times(tables(view).table("spans").get("all", ()), query)
        return [each for each in found if each.place > after][:limit]
