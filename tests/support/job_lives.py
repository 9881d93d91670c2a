"""Services that are started again whenever they die, as the test has them in its hand."""

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
from dataclasses import dataclass, field
from pathlib import Path

from support.failpoints import Act
from support.job_failpoints import JobPoint
from support.servers import short_folder, wait_until

TESTS = Path(__file__).parents[1]
PAUSE = 0.05
"""Seconds between a death and the next start."""


@dataclass(frozen=True)
class Wish:
    """What is to happen at the so-and-so-many pass of a point."""

    point: JobPoint
    act: Act
    passes: int


@dataclass
class Lives:
    """One service, in one life after the other."""

    zygote: Path
    service: str
    log: Path
    environment: Mapping[str, str]
    reached: asyncio.Queue[JobPoint] = field(default_factory=asyncio.Queue)
    count: int = 0
    _pid: int = 0
    _wish: Wish | None = None
    _writer: asyncio.StreamWriter | None = None

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
        self._say("go on")

    def kill(self) -> None:
        # It may have died just now.
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    async def _live(self) -> None:
        reader, writer = await asyncio.open_unix_connection(self.zygote)
        order = {"service": self.service, "log": str(self.log), "environment": dict(self.environment)}
        writer.write(json.dumps(order).encode() + b"\n")
        self._pid, self._writer = json.loads(await reader.readline()), writer
        self.count += 1
        if (wish := self._wish) is not None:
            self._say([wish.point, wish.act, wish.passes])
        try:
            with suppress(ConnectionResetError):
                async for line in reader:
                    self.reached.put_nowait(JobPoint(json.loads(line)))
                    self._wish = None
        finally:
            self.kill()
            self._pid, self._writer = 0, None
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def _say(self, wish: object) -> None:
        if self._writer is not None:
            self._writer.write(json.dumps(wish).encode() + b"\n")


@asynccontextmanager
async def zygote() -> AsyncIterator[Path]:
    """The socket of a process that starts services."""
    folder = short_folder()
    address = folder / "zygote.sock"
    with _spawn(address) as process:
        try:
            await asyncio.to_thread(wait_until, address.exists, process)
            yield address
        finally:
            process.kill()
            shutil.rmtree(folder)


def _spawn(address: Path) -> subprocess.Popen[bytes]:
    search = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    command: list[str | Path] = [sys.executable, "-m", "support.job_zygote", address]
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": search})
