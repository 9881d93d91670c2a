"""Those who hear of runs while the services are killed that tell of them, and go on where they stood."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import asyncpg
from google.protobuf.message import Message

from paddleflow.channel import open_channel_without_retries
from paddleflow.pipeline.v1 import run_pb2
from paddleflow.problems import DeadlineExceeded, Unavailable
from support.callers import Caller
from support.run_chaos import EVERYTHING, Site

BREAK = 0.02
"""Seconds until somebody whose stream broke asks another instance."""
PAGE = 23
"""Runs on one page: some that do not divide the number of all."""


@dataclass
class RunWatcher:
    """Writes down each change of a run that it is told of."""

    made: Site
    told: list[tuple[str, int]] = field(default_factory=list)
    """Runs, and the versions of them."""
    breaks: int = 0
    caught_up: asyncio.Event = field(default_factory=asyncio.Event)
    _token: str = ""

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        for address in cycle(self.made.addresses["pipeline"]):
            with suppress(Unavailable, DeadlineExceeded):
                async with stream(self.made, address, run_pb2.WatchRunsRequest(resume_token=self._token)) as messages:
                    async for message in messages:
                        self._hear(message)
            self.breaks += 1
            await asyncio.sleep(BREAK)

    def _hear(self, message: run_pb2.WatchRunsResponse) -> None:
        self.told += [(event.run.id, event.run.version) for event in message.events]
        self._token = message.resume_token or self._token
        if message.bookmark:
            self.caught_up.set()


@dataclass
class Follower:
    """Writes down each happening of one run that it is told of."""

    made: Site
    run_id: str
    told: list[int] = field(default_factory=list)

    async def run(self) -> None:
        """Goes on until the run is over."""
        for address in cycle(self.made.addresses["pipeline"]):
            with suppress(Unavailable, DeadlineExceeded):
                await self._follow(address)
                return
            await asyncio.sleep(BREAK)

    async def _follow(self, address: str) -> None:
        after = self.told[-1] if self.told else 0
        request = run_pb2.WatchHappeningsRequest(run_id=self.run_id, after=after, follow=True)
        async with stream(self.made, address, request) as messages:
            async for message in messages:
                self.told += [happening.number for happening in message.happenings]


@dataclass
class Pager:
    """Reads all pages of runs, again and again."""

    made: Site
    wrong: list[str] = field(default_factory=list)
    rounds: int = 0

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        while True:
            before = await self._all(1000)
            seen = await self._all(PAGE)
            after = await self._all(1000)
            self.wrong += [f"{id_} was seen twice" for id_ in set(seen) if seen.count(id_) > 1]
            self.wrong += [f"{id_} was not seen" for id_ in set(before) & set(after) - set(seen)]
            self.rounds += bool(seen)
            await asyncio.sleep(BREAK)

    async def _all(self, size: int) -> Sequence[str]:
        found: list[str] = []
        request = run_pb2.ListRunsRequest(page_size=size)
        while True:
            page = await self.made.call(request)
            found += [run.id for run in page.runs]
            request.page_token = page.next_page_token
            if not request.page_token:
                return found


@asynccontextmanager
async def stream(made: Site, address: str, request: Message) -> AsyncIterator[AsyncIterator[Any]]:
    """The messages of one instance."""
    async with open_channel_without_retries(address, None) as channel:
        messages = Caller(channel, made.secret, "", EVERYTHING).watch(request)
        try:
            yield messages
        finally:
            await messages.aclose()


async def committed(made: Site) -> Sequence[tuple[str, int]]:
    """All changes of runs that others were to be told of, in their order."""
    connection = await asyncpg.connect(made.dsn)
    try:
        rows = await connection.fetch("select payload from pipeline.outbox where subject like 'run/%' order by xid, id")
    finally:
        await connection.close()
    events = [run_pb2.RunEvent.FromString(row["payload"]) for row in rows]
    return [(event.run.id, event.run.version) for event in events]
