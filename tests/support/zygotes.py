"""The test's end of `support.zygote`: what has all imported, and starts services in a moment."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import BinaryIO

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
    PLACED_FS = "placed_fs"
    """With servers of a test behind filesystems."""
    JOB = "job"
    PIPELINE = "pipeline"
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
    haste: Haste | None
    """None: it is as a user has it."""


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


@dataclass
class Forked:
    """A service that was started, with the words of `Popen`."""

    pid: int
    watched: int
    """A descriptor that can be read once it has ended."""
    wire: socket.socket
    words: BinaryIO
    status: int | None = None

    def poll(self) -> int | None:
        return self.status if self.status is not None or not self._ends_within(0) else self._gone()

    def send_signal(self, how: signal.Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.watched, how)

    def wait(self, timeout: float) -> int:
        if self.status is None:
            assert self._ends_within(timeout), f"process {self.pid} does not end within {timeout} s"
            return self._gone()
        return self.status

    def _ends_within(self, seconds: float) -> bool:
        return bool(select.select([self.watched], [], [], seconds)[0])

    def _gone(self) -> int:
        """Its status; that of one that was killed if it told none."""
        told = self.words.readline()
        self.status = int(told) if told else -signal.SIGKILL
        self.words.close()
        self.wire.close()
        os.close(self.watched)
        return self.status


@dataclass(frozen=True)
class Zygote:
    """A process that starts services."""

    address: Path

    async def start(self, order: Order) -> Child:
        reader, writer = await asyncio.open_unix_connection(self.address)
        writer.write(_written(order))
        return Child(json.loads(await reader.readline()), reader, writer)

    def begin(self, order: Order) -> Forked:
        """The same, for those who look after it as after a child of their own."""
        wire = socket.socket(socket.AF_UNIX)
        wire.connect(str(self.address))
        wire.sendall(_written(order))
        words = wire.makefile("rb")
        pid = int(words.readline())
        return Forked(pid, os.pidfd_open(pid), wire, words)


@cache
def zygote() -> Zygote:
    """The one of this process, which lives as long as that: to import all that services need takes seconds."""
    folder = short_folder()
    address = folder / "zygote.sock"
    process = _spawn(address)
    atexit.register(_end, process, folder)
    wait_until(address.exists, process, PATIENCE)
    return Zygote(address)


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    process.kill()
    process.communicate()
    shutil.rmtree(folder)


def _written(order: Order) -> bytes:
    words = asdict(order) | {"log": str(order.log), "environment": dict(order.environment)}
    return json.dumps(words).encode() + b"\n"


def _spawn(address: Path) -> subprocess.Popen[bytes]:
    search = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    command: list[str | Path] = [sys.executable, "-m", "support.zygote", address]
    # Its input ends with this process, and so does it.
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": search}, stdin=subprocess.PIPE)
