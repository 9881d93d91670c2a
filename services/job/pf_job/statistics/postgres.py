"""For how long jobs held what, in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pf_job.statistics.domain import CardQuery, CardTime, Place
from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import Row, rows
from pf_kit.unit import View


class PostgresCardTimeStore:
    """Fulfils `CardTimeStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_job.statistics")

    async def card_times(self, view: View, query: CardQuery, after: Place, limit: int) -> Sequence[CardTime]:
        found = await rows(view).fetch(
            self._sql["card_times"],
            int(query.group),
            query.start,
            query.end,
            _names(query.queues),
            _names(query.users),
            _names(query.granted),
            query.viewer.name,
            query.viewer.since,
            after.queue,
            after.user,
            after.job,
            limit,
        )
        return [_card_time(row) for row in found]


def _names(names: frozenset[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _card_time(row: Row) -> CardTime:
    return CardTime(
        place=Place(row["queue"], row["told_owner"], row["told_job"]),
        jobs=row["jobs"],
        running=row["running"],
        seconds=row["seconds"],
        cards=row["cards"],
        cores=row["cores"],
        memory=row["memory"],
        most_cards=row["most_cards"],
        accept_time=row["accept_time"],
        start_time=row["start_time"],
        finish_time=row["finish_time"],
    )
