"""Notices in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from pf_kit.postgres.queries import load_queries
from pf_kit.postgres.views import Row, rows
from pf_kit.unit import Change, View
from pf_pipeline.notices.domain import Means, Notice, NoticeState


class PostgresNoticeStore:
    """Fulfils `NoticeStore` over a `PostgresDatabase`."""

    def __init__(self) -> None:
        self._sql: Mapping[str, str] = load_queries("pf_pipeline.notices")

    async def add(self, change: Change, notices: Sequence[Notice]) -> None:
        columns = [
            [notice.id for notice in notices],
            [notice.run for notice in notices],
            [notice.owner for notice in notices],
            [notice.owner_since for notice in notices],
            [notice.means for notice in notices],
            [notice.target for notice in notices],
            [notice.secret_file for notice in notices],
            [notice.filesystem for notice in notices],
            [notice.body for notice in notices],
        ]
        await rows(change).execute(self._sql["add"], *columns, change.time)

    async def claim(self, change: Change, lease: timedelta, limit: int, without: Collection[str]) -> Sequence[Notice]:
        found = await rows(change).fetch(self._sql["claim"], change.time, lease, limit, list(without))
        return sorted(map(_notice, found), key=lambda notice: notice.id)

    async def settle(self, change: Change, notices: Sequence[Notice]) -> None:
        columns = [
            [notice.id for notice in notices],
            [notice.state for notice in notices],
            [notice.message for notice in notices],
            [notice.due_time for notice in notices],
            [notice.attempts for notice in notices],
        ]
        await rows(change).execute(self._sql["settle"], *columns)

    async def of_run(self, view: View, run: str) -> Sequence[Notice]:
        return [_notice(row) for row in await rows(view).fetch(self._sql["of_run"], run)]


def _notice(row: Row) -> Notice:
    return Notice(
        id=row["id"],
        run=row["run"],
        owner=row["owner"],
        owner_since=row["owner_since"],
        means=Means(row["means"]),
        target=row["target"],
        secret_file=row["secret_file"],
        filesystem=row["filesystem"],
        body=row["body"],
        state=NoticeState(row["state"]),
        attempts=row["attempts"],
        message=row["message"],
        due_time=row["due_time"],
    )
