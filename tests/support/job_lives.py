"""Services that are started again whenever they die, as the test has them in its hand."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

from support.failpoints import Act
from support.zygotes import Child, Order, Zygote

PAUSE = 0.05
"""Seconds between a death and the next start."""


@dataclass(frozen=True)
class Wish:
    """What is to happen at the so-and-so-many pass of a point."""

    point: StrEnum
    act: Act
    passes: int


@dataclass
class Lives:
    """One service, in one life after the other."""

    zygote: Zygote
    order: Order
    reached: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    count: int = 0
    firsts: list[tuple[str, float]] = field(default_factory=list)
    """Each point that a life came to, and how many seconds after the death before it did so first."""
    _died: float = field(default_factory=time.monotonic)
    _wish: Wish | None = None
    _child: Child | None = None

    async def go_through(self) -> None:
        """Lives, and lives again, for ever."""
        while True:
            await self._live()
            await asyncio.sleep(PAUSE)

    def wish(self, wish: Wish) -> None:
        """For this life, or the next one if there is none just now."""
        self._wish = wish
        while not self.reached.empty():
            self.reached.get_nowait()
        self._say([wish.point, wish.act, wish.passes])

    def go_on(self) -> None:
        self._wish = None
        self._say("nothing")
        self._say("go on")

    def kill(self) -> None:
        self.send(signal.SIGKILL)

    def send(self, how: signal.Signals) -> None:
        # It may have died just now.
        if self._child:
            with suppress(ProcessLookupError):
                os.kill(self._child.pid, how)

    async def _live(self) -> None:
        self._child = child = await self.zygote.start(self.order)
        self.count += 1
        if (wish := self._wish) is not None:
            self._say([wish.point, wish.act, wish.passes])
        try:
            with suppress(ConnectionError):
                async for line in child.reader:
                    self._hear(*json.loads(line))
        finally:
            self.kill()
            self._child, self._died = None, time.monotonic()
            await child.close()

    def _hear(self, what: str, point: str, *_: object) -> None:
        if what == "passed":
            self.firsts.append((point, time.monotonic() - self._died))
        if what == "at":
            self.reached.put_nowait(point)
            self._wish = None

    def _say(self, wish: object) -> None:
        if self._child is not None:
            self._child.say(wish)
