"""Watches of a real database, where transactions overlap and commit out of order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from paddleflow.problems import WatchTooSlow
from pf_kit.call import CURRENT, Call
from pf_kit.clock import SystemClock
from pf_kit.events import Event, Fact
from pf_kit.postgres.database import PostgresDatabase
from pf_kit.postgres.views import rows
from pf_kit.principal import ANONYMOUS, Principal
from pf_kit.unit import View
from pf_kit.watch import Watches
from support.databases import migrated

NAMES = "abcdef"
WRITES = 30

Change = tuple[str, int]


def encode(event: object) -> Fact:
    name, number = event if isinstance(event, tuple) else ("", 0)
    return Fact("Number", f"number/{name}", number, f"{name}={number}".encode())


@dataclass
class Followed:
    """What a watcher has been told: by name, in order."""

    database: PostgresDatabase
    token: str = ""
    told: dict[str, list[int]] = field(default_factory=dict)

    async def follow(self, chance: random.Random) -> None:
        """Watches, with breaks and restarts, until the last number of each name has come."""
        while {name: numbers[-1] for name, numbers in self.told.items()} != dict.fromkeys(NAMES, WRITES - 1):
            watches = Watches(self.database, _let_go_on, SystemClock(), kept=chance.choice([20, 1000]))
            running = asyncio.create_task(watches.run())
            with suppress(WatchTooSlow, TimeoutError):
                async with asyncio.timeout(chance.uniform(0.02, 0.3)):
                    await self._read(watches)
            running.cancel()
            await asyncio.wait([running])

    async def _read(self, watches: Watches) -> None:
        CURRENT.set(Call("/s/Watch", ANONYMOUS, "", "", 0.0))
        async for page in watches.watch(self.token, existing=_existing, changes=_changes):
            for name, number in page.messages:
                self.told.setdefault(name, []).append(number)
            self.token = page.resume_token


async def _let_go_on(_: Principal) -> None:
    """Everybody may."""


async def _existing(view: View) -> Sequence[Change]:
    return [(row["name"], row["number"]) for row in await rows(view).fetch("select name, number from numbers")]


async def _changes(event: Event) -> Sequence[Change]:
    name, _, number = event.fact.payload.decode().partition("=")
    return [(name, int(number))]


async def write(database: PostgresDatabase, name: str, chance: random.Random) -> None:
    """Each number in a transaction of its own, some of which last long."""
    for number in range(WRITES):
        async with database.change(f"number/{name}") as change:
            sql = "insert into numbers values ($1, $2) on conflict (name) do update set number = excluded.number"
            await rows(change).execute(sql, name, number)
            change.emit((name, number))
            await asyncio.sleep(chance.choice([0, 0, 0.002, 0.02]))


@pytest.mark.parametrize("seed", range(3))
async def test_snapshot_and_stream_together_are_the_truth(fresh_dsn: str, seed: int) -> None:
    async with migrated(fresh_dsn, encode) as database:
        async with database.change("table") as change:
            await rows(change).execute("create table numbers (name text primary key, number int not null)")
        watchers = [Followed(database) for _ in range(3)]
        async with asyncio.timeout(50), asyncio.TaskGroup() as group:
            for name in NAMES:
                group.create_task(write(database, name, random.Random(f"{seed}{name}")))
            for n, watcher in enumerate(watchers):
                group.create_task(watcher.follow(random.Random(seed * 10 + n)))
    for watcher in watchers:
        for numbers in watcher.told.values():
            # What was there at the beginning counts as one; after it nothing is missing, doubled or out of order.
            assert numbers == list(range(numbers[0], WRITES))
