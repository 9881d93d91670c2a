"""Instances of the queue service with failpoints, as the test has them in its hand."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from grpc import aio

from paddleflow.channel import open_channel_without_retries
from support.failing_queue import Haste
from support.failpoints import Act, Point
from support.servers import short_folder
from support.waiting import until
from support.zygotes import Child, Kind, Order, Zygote, zygote

START = 20.0
"""Seconds for a start on a machine that is busy with other things."""
LAST_WORDS = 2.0
"""Seconds until calls to one that is dead know it."""


@dataclass(frozen=True)
class Reached:
    """An instance is where it was wished to be."""

    instance: Instance
    point: Point
    act: Act
    backend: int
    """The process of Postgres that serves the leader's transaction; 0 outside of one."""


@dataclass(eq=False)
class Instance:
    """One life of an instance."""

    address: str
    child: Child
    channel: aio.Channel
    reached: asyncio.Queue[Reached]
    """Shared by all instances."""
    passed: set[Point] = field(default_factory=set)
    dead: bool = False

    @property
    def ready(self) -> bool:
        """True once it leads, or stands by."""
        return not self.passed.isdisjoint((Point.WAITING, Point.LEASED))

    def wish(self, point: Point, act: Act, passes: int = 1) -> None:
        """Has something happen at the so-and-so-many pass of a point from now on."""
        self._say([point, act, passes])

    def wish_nothing(self) -> None:
        self._say("nothing")

    def go_on(self) -> None:
        self._say("go on")

    def signal(self, number: signal.Signals) -> None:
        # It may have died just now.
        with suppress(ProcessLookupError):
            os.kill(self.child.pid, number)

    async def listen(self) -> None:
        """Takes in what it tells, until it is dead."""
        with suppress(ConnectionResetError):
            async for line in self.child.reader:
                what, point, act, backend = json.loads(line)
                if what == "passed":
                    self.passed.add(Point(point))
                else:
                    self.reached.put_nowait(Reached(self, Point(point), Act(act), backend))
        self.dead = True
        await self.child.close()

    def _say(self, wish: object) -> None:
        if not self.dead:
            self.child.say(wish)


@dataclass
class Instances:
    """All that live, and how to start more."""

    zygote: Zygote
    folder: Path
    environment: Mapping[str, str]
    haste: Haste
    alive: list[Instance] = field(default_factory=list)
    reached: asyncio.Queue[Reached] = field(default_factory=asyncio.Queue)
    _started: int = 0
    _removing: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def log(self) -> Path:
        """What all of them have told."""
        return self.folder / "queue.log"

    async def start(self) -> Instance:
        """Starts one more, and waits until it leads or stands by, or is dead."""
        self._started += 1
        address = f"unix:{self.folder}/{self._started}.sock"
        environment = {**self.environment, "PF_QUEUE_SERVER_LISTEN": address}
        child = await self.zygote.start(Order(Kind.FAILING_QUEUE, self.log, environment, self.haste))
        channel = open_channel_without_retries(address, None)
        instance = Instance(address, child, channel, self.reached)
        self._run(instance)
        await until(lambda: instance.ready or instance.dead, START)
        return instance

    def _run(self, instance: Instance) -> None:
        async def live() -> None:
            self.alive.append(instance)
            try:
                await instance.listen()
            finally:
                self.alive.remove(instance)
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORDS):
                    await self._removing.wait()
            await instance.channel.close()

        task = asyncio.create_task(live())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def remove(self) -> None:
        """Ends all that live."""
        self._removing.set()
        for instance in list(self.alive):
            instance.signal(signal.SIGKILL)
        if self._tasks:
            await asyncio.wait(self._tasks)


@asynccontextmanager
async def instances(environment: Mapping[str, str], haste: Haste) -> AsyncIterator[Instances]:
    """Instances that share these settings; each listens where nobody did before."""
    folder = short_folder()
    try:
        made = Instances(zygote(), folder, environment, haste)
        try:
            yield made
        finally:
            await made.remove()
    finally:
        shutil.rmtree(folder)
