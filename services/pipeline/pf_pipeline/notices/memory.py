"""Notices in memory, for tests: as durable as the process."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta

from pf_kit.memory import tables
from pf_kit.unit import Change, View
from pf_pipeline.notices.domain import Notice, NoticeState


class MemoryNoticeStore:
    """Fulfils `NoticeStore` over a `MemoryDatabase`."""

    async def add(self, change: Change, notices: Sequence[Notice]) -> None:
        for notice in notices:
            _notices(change).setdefault(notice.id, replace(notice, due_time=change.time))

    async def claim(self, change: Change, lease: timedelta, limit: int, without: Collection[str]) -> Sequence[Notice]:
        kept = [each for each in _notices(change).values() if each.owner not in without]
        due = [each for each in kept if each.state is NoticeState.PENDING and each.due_time <= change.time]
        first = sorted(due, key=lambda notice: (notice.due_time, notice.id))[:limit]
        claimed = [replace(each, attempts=each.attempts + 1, due_time=change.time + lease) for each in first]
        _notices(change).update({notice.id: notice for notice in claimed})
        return claimed

    async def settle(self, change: Change, notices: Sequence[Notice]) -> None:
        kept = _notices(change)
        kept.update({notice.id: notice for notice in notices if _counts(kept[notice.id], notice)})

    async def of_run(self, view: View, run: str) -> Sequence[Notice]:
        kept = _notices(view)
        return [kept[id_] for id_ in sorted(kept) if kept[id_].run == run]


def _counts(kept: Notice, settled: Notice) -> bool:
    over = settled.state is not NoticeState.PENDING
    return kept.state is NoticeState.PENDING and (over or kept.attempts == settled.attempts)


def _notices(view: View) -> dict[str, Notice]:
    return tables(view).table("notices")
