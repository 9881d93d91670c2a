"""Whoever makes the runs of schedules, for tests: a run is a row, and is over when a test says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from paddleflow.problems import Problem
from pf_kit.memory import tables
from pf_kit.postgres.views import rows
from pf_kit.unit import Change, View
from pf_pipeline.schedules.domain import Schedule
from pf_pipeline.schedules.ports import RunMaker, Wanted

TABLE = """
create table fake_runs (
    number bigint primary key generated always as identity,
    schedule text not null,
    tick timestamptz not null,
    why text not null,
    state text not null,
    made timestamptz not null default clock_timestamp()
);
create index fake_runs_running on fake_runs (schedule) where state = 'running'
"""


@dataclass(frozen=True, slots=True)
class FakeRun:
    """A run."""

    number: int
    schedule: str
    tick: datetime
    why: str
    state: str

    @property
    def id(self) -> str:
        return f"run-{self.number:06d}"


class Refusing:
    """Refuses what a test wants refused."""

    def __init__(self) -> None:
        self.refused: dict[str, Problem] = {}
        """By schedule, before a change begins."""
        self.unknown: dict[str, Problem] = {}
        """By schedule, raised before a change begins."""
        self.broken: dict[str, Problem] = {}
        """By schedule, inside of a change."""

    async def refusals(self, schedules: Sequence[Schedule]) -> Mapping[str, Problem]:
        for each in schedules:
            if each.id in self.unknown:
                raise self.unknown[each.id]
        return {each.id: self.refused[each.id] for each in schedules if each.id in self.refused}

    def check(self, wanted: Sequence[Wanted]) -> None:
        for each in wanted:
            if each.schedule.id in self.broken:
                raise self.broken[each.schedule.id]


class FakeRuns(RunMaker, Protocol):
    """Makes runs, and lets tests look at them."""

    refusing: Refusing

    async def all(self, view: View) -> Sequence[FakeRun]:
        """All runs, oldest first."""

    async def end(self, change: Change, run: str, state: str) -> None:
        """Lets a run be over."""


class MemoryFakeRuns:
    """Fulfils `FakeRuns` over a `MemoryDatabase`."""

    def __init__(self) -> None:
        self.refusing = Refusing()
        self.refusals = self.refusing.refusals

    async def make(self, change: Change, wanted: Sequence[Wanted]) -> Sequence[str]:
        self.refusing.check(wanted)
        return [_added(change, each, "running") for each in wanted]

    async def pass_over(self, change: Change, wanted: Sequence[Wanted]) -> Sequence[str]:
        return [_added(change, each, "skipped") for each in wanted]

    async def active(self, view: View, schedules: Collection[str]) -> Mapping[str, int]:
        return Counter(run.schedule for run in await self.all(view) if run.state == "running")

    async def stop_oldest(self, change: Change, schedule: str, count: int) -> None:
        running = [run for run in await self.all(change) if run.schedule == schedule and run.state == "running"]
        for run in running[:count]:
            await self.end(change, run.id, "terminated")

    async def failed(self, view: View, runs: Collection[str]) -> Collection[str]:
        return {run.id for run in await self.all(view) if run.id in runs and run.state in ("failed", "terminated")}

    async def all(self, view: View) -> Sequence[FakeRun]:
        return list(tables(view).table("fake_runs").values())

    async def end(self, change: Change, run: str, state: str) -> None:
        kept: dict[str, FakeRun] = tables(change).table("fake_runs")
        kept[run] = replace(kept[run], state=state)


class PostgresFakeRuns:
    """Fulfils `FakeRuns` over a `PostgresDatabase` with the table `TABLE`."""

    def __init__(self) -> None:
        self.refusing = Refusing()
        self.refusals = self.refusing.refusals

    async def make(self, change: Change, wanted: Sequence[Wanted]) -> Sequence[str]:
        self.refusing.check(wanted)
        return await self._add(change, wanted, "running")

    async def pass_over(self, change: Change, wanted: Sequence[Wanted]) -> Sequence[str]:
        return await self._add(change, wanted, "skipped")

    async def active(self, view: View, schedules: Collection[str]) -> Mapping[str, int]:
        found = await rows(view).fetch(
            "select schedule, count(*) as runs from fake_runs"
            " where schedule = any ($1) and state = 'running' group by schedule",
            list(schedules),
        )
        return {row["schedule"]: row["runs"] for row in found}

    async def stop_oldest(self, change: Change, schedule: str, count: int) -> None:
        await rows(change).execute(
            "update fake_runs set state = 'terminated' where number in (select number from fake_runs"
            " where schedule = $1 and state = 'running' order by number limit $2)",
            schedule,
            count,
        )

    async def failed(self, view: View, runs: Collection[str]) -> Collection[str]:
        return {run.id for run in await self.all(view) if run.id in runs and run.state in ("failed", "terminated")}

    async def all(self, view: View) -> Sequence[FakeRun]:
        found = await rows(view).fetch("select number, schedule, tick, why, state from fake_runs order by number")
        return [FakeRun(**dict(row)) for row in found]

    async def end(self, change: Change, run: str, state: str) -> None:
        await rows(change).execute("update fake_runs set state = $2 where number = $1", int(run[4:]), state)

    async def _add(self, change: Change, wanted: Sequence[Wanted], state: str) -> Sequence[str]:
        found = await rows(change).fetch(
            "insert into fake_runs (schedule, tick, why, state)"
            " select schedule, tick, why, $4 from unnest($1::text[], $2::timestamptz[], $3::text[]) with ordinality"
            " as given (schedule, tick, why, place) order by place returning number",
            [each.schedule.id for each in wanted],
            [each.time for each in wanted],
            [each.why for each in wanted],
            state,
        )
        return [f"run-{row['number']:06d}" for row in found]


def _added(change: Change, wanted: Wanted, state: str) -> str:
    kept: dict[str, FakeRun] = tables(change).table("fake_runs")
    run = FakeRun(len(kept) + 1, wanted.schedule.id, wanted.time, wanted.why, state)
    kept[run.id] = run
    return run.id
