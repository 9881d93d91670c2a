"""The test's end of `support.zygote`: what has all imported, and starts services in a moment."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from support.failing_queue import Haste
from support.servers import short_folder, wait_until

TESTS = Path(__file__).parents[1]
PATIENCE = 60.0
"""Seconds until all is imported, on a machine that is busy with other things."""


class Kind(StrEnum):
    """What can be started."""

    QUEUE = "queue"
    FAILING_QUEUE = "failing_queue"
    """With the failpoints of admission."""
    FS = "fs"
    FAILING_JOB = "failing_job"
    """With the failpoints of driving jobs."""
    FAILING_PIPELINE = "failing_pipeline"
    """With the failpoints of driving runs."""


@dataclass(frozen=True)
class Order:
    """What to start."""

    kind: Kind
    log: Path
    environment: Mapping[str, str]
    haste: Haste


@dataclass(frozen=True)
class Child:
    """A service that was started; it ends when its wire does."""

    pid: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def say(self, wish: object) -> None:
        self.writer.write(json.dumps(wish).encode() + b"\n")

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@dataclass(frozen=True)
class Zygote:
    """A process that starts services."""

    address: Path

    async def start(self, order: Order) -> Child:
        reader, writer = await asyncio.open_unix_connection(self.address)
        words = asdict(order) | {"log": str(order.log), "environment": dict(order.environment)}
        writer.write(json.dumps(words).encode() + b"\n")
        return Child(json.loads(await reader.readline()), reader, writer)


@asynccontextmanager
async def zygote() -> AsyncIterator[Zygote]:
    """One that lives for the block."""
    folder = short_folder()
    address = folder / "zygote.sock"
    with _spawn(address) as process:
        try:
            await asyncio.to_thread(wait_until, address.exists, process, PATIENCE)
            yield Zygote(address)
        finally:
            process.kill()
            shutil.rmtree(folder)


def _spawn(address: Path) -> subprocess.Popen[bytes]:
    search = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    command: list[str | Path] = [sys.executable, "-m", "support.zygote", address]
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": search})
