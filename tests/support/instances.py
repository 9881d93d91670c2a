"""Instances of the queue service with failpoints, as the test has them in its hand."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from grpc import aio

from paddleflow.channel import open_channel_without_retries
from support.failing_queue import Haste
from support.failpoints import Act, Point
from support.servers import short_folder, wait_until
from support.waiting import until

TESTS = Path(__file__).parents[1]
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
    pid: int
    channel: aio.Channel
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
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
            os.kill(self.pid, number)

    async def listen(self) -> None:
        """Takes in what it tells, until it is dead."""
        with suppress(ConnectionResetError):
            async for line in self.reader:
                what, point, act, backend = json.loads(line)
                if what == "passed":
                    self.passed.add(Point(point))
                else:
                    self.reached.put_nowait(Reached(self, Point(point), Act(act), backend))
        self.dead = True
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()

    def _say(self, wish: object) -> None:
        if not self.dead:
            self.writer.write(json.dumps(wish).encode() + b"\n")


@dataclass
class Instances:
    """All that live, and how to start more."""

    zygote: Path
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
        reader, writer = await asyncio.open_unix_connection(self.zygote)
        order = {
            "log": str(self.log),
            "environment": {**self.environment, "PF_QUEUE_SERVER_LISTEN": address},
            "haste": asdict(self.haste),
        }
        writer.write(json.dumps(order).encode() + b"\n")
        pid = json.loads(await reader.readline())
        channel = open_channel_without_retries(address, None)
        instance = Instance(address, pid, channel, reader, writer, self.reached)
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
    zygote = folder / "zygote.sock"
    with _spawn(zygote) as process:
        try:
            await asyncio.to_thread(wait_until, zygote.exists, process)
            made = Instances(zygote, folder, environment, haste)
            try:
                yield made
            finally:
                await made.remove()
        finally:
            process.kill()
            shutil.rmtree(folder)


def _spawn(zygote: Path) -> subprocess.Popen[bytes]:
    search = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    command: list[str | Path] = [sys.executable, "-m", "support.zygote", zygote]
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": search})
